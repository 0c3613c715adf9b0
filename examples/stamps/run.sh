#!/bin/sh
# The demo, as one would type it: run.sh STAMPS_FOLDER WORK_FOLDER. `headrace` is on PATH.
set -eu
stamps=$1
work=$2
here=$(dirname "$0")

# Shows a command as one would type it, then runs it.
run() {
  printf '\n$'
  for word; do
    case $word in
      *[!A-Za-z0-9_./:=-]*) printf " '%s'" "$word" ;;
      *) printf ' %s' "$word" ;;
    esac
  done
  printf '\n'
  "$@"
}

# One sample a stamp: tiger.png, tiger.txt, tiger_desc_es.ogg and tiger_es.wav are the fields png,
# txt, desc_es.ogg and es.wav of the sample …/tiger.
key='(?<key>.+?)[._](?<field>(?:(?:desc|(?:desc_)?[a-z]{2})(?:_[A-Za-z]{2})?\.)?(?:ogg|wav)(?:\.ogg)?|png|svg|txt|dat)'

mkdir -p "$work"
printf '%s files in %s\n' "$(find "$stamps" -type f | wc -l)" "$stamps"
run headrace pack "$stamps" --out "$work/shards" --key "$key" --label-from folder --shuffle 7 --shards 12
run headrace verify "$work/shards"
run headrace info "$work/shards"
run headrace ls "$work/shards" | head -n 6
run python "$here/train.py" "$work/shards" "$work/run"
