<?php
const PING = 'PING_URL';

function tell(string $signal, string $body = ''): void
{
    $options = ['http' => ['method' => 'POST', 'content' => $body, 'timeout' => 10]];
    if (@file_get_contents(PING . $signal, false, stream_context_create($options)) === false) {
        fwrite(STDERR, "ping failed\n");
    }
}

tell('/start');
exec('nightly-backup 2>&1', $output, $status);
tell("/$status", implode("\n", $output));
exit($status);
