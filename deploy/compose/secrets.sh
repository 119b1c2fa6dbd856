#!/bin/sh
# Writes the secrets of compose.yaml and compose.dial.yaml into the folder `secrets` beside this file, those that are
# missing there. Nobody else may enter the folder. Users of the containers read the files, so these are not closed.
set -eu
folder=$(dirname "$0")/secrets
mkdir -p "$folder"
chmod 700 "$folder"
umask 022

random() {
    head -c 24 /dev/urandom | base64 | tr '+/' '-_'
}

# put NAME TEXT
put() {
    if [ ! -e "$folder/$1" ]; then
        printf '%s' "$2" > "$folder/$1"
        echo "wrote $folder/$1"
    fi
}

put sender_token "$(random)"
put pages_token "$(random)"
put grafana_password "$(random)"
put store_key "$(random)"
# The same key for SeaweedFS. dialwatch writes, and needs no more than the bucket `lake`.
put store_identities '{"identities": [{"name": "dialwatch", "actions": ["Read:lake", "Write:lake", "List:lake"],
  "credentials": [{"accessKey": "dialwatch", "secretKey": "'"$(cat "$folder/store_key")"'"}]}]}'
# DIAL Core: its static settings, and its one API key. Core asks for a provider of identities; this one knows nobody.
put dial_settings '{"identityProviders": {"nobody": {"jwksUrl": "http://127.0.0.1:9/", "issuerPattern": "^nobody$",
  "rolePath": "roles"}}, "encryption": {"secret": "'"$(random)"'", "key": "'"$(random)"'"}}'
put dial_key "$(random)"
put dial_keys '{"keys": {"'"$(cat "$folder/dial_key")"'": {"project": "local", "role": "default"}}}'
