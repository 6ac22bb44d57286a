#!/bin/sh
flatline import healthchecks --file hc.sqlite --secret-key - --account you@example.org <secret-key
flatline import healthchecks --file hc.sqlite --secret-key - --account you@example.org --yes <secret-key
