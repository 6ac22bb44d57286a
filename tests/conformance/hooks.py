"""What schemathesis has to be told: a mail is sent as the text it is."""

import schemathesis

schemathesis.serializer.alias("message/rfc822", "text/plain")
