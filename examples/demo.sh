#!/bin/sh
# A short tour for `make demo`: an office with twenty tools, through the command line.
set -eu
: "${TOOLCRIB:=toolcrib}"
office=$(dirname "$0")/office

show() {
    printf '\n$ toolcrib'
    printf ' %s' "$@"
    printf '\n'
    "$TOOLCRIB" "$@" || [ $? -eq 2 ] # 2: the answer is no, which is an answer
}

show --version
show tools list --from "$office"
show tools show book_meeting --from "$office"
show search 'where can we meet on Friday?' --from "$office"
show search 'Ich habe mein Passwort vergessen' --from "$office"
show search 'ile dni urlopu mi zostało' --from "$office"
show search 'how are you?' --from "$office"
show explain 'Ich habe mein Passwort vergessen' reset_password --from "$office"
show check --from "$office"
show bench --from "$office" --queries "$office/queries.jsonl"
