#!/bin/sh
# A short tour for `make demo`: an office with twenty tools, through the command line.
set -eu
: "${TOOLCRIB:=toolcrib}"
office=$(dirname "$0")/office

show() {
    printf '\n$ toolcrib'
    printf ' %s' "$@"
    printf '\n'
    "$TOOLCRIB" "$@"
}

show --version
show tools list --from "$office"
show tools show book_meeting --from "$office"
show search 'where can we meet on Friday?' --from "$office"
show search 'Ich habe mein Passwort vergessen' --from "$office"
show search 'ile dni urlopu mi zostało' --from "$office"
show check --from "$office"
show bench --from "$office" --queries "$office/queries.jsonl"
