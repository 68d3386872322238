#!/bin/sh
# `make demo`: the reference CMS with 45 tools, first in a few lines here, then as a page in the browser.
# Everything it keeps is in one folder, so that a second run goes on where the first one ended.
set -eu
: "${TOOLCRIB:=toolcrib}"

show() {
    printf '\n$ toolcrib'
    for word in "$@"; do
        case $word in *[!A-Za-z0-9_.:/=-]*) printf ' "%s"' "$word" ;; *) printf ' %s' "$word" ;; esac
    done
    printf '\n'
    "$TOOLCRIB" "$@" || [ $? -eq 2 ] # 2: the answer is no, or waits for a yes, which is an answer
}

show --version
show search 'znajdź zdjęcie bohatera' --limit 3
show search 'how are you?'
show tokens
show chat --message "what's the hero heading?"
show chat --message 'Delete the Old pricing page'

if [ -t 0 ]; then
    printf '\n$ toolcrib demo\n'
    exec "$TOOLCRIB" demo
fi
printf '\nThe same in the browser, with the site beside it: make demo in a terminal, or `toolcrib demo`.\n'
