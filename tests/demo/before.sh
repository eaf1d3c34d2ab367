#!/usr/bin/env bash
# The state that the demo starts from, made by hand as somebody in a hurry would: an engine that answers one request at a time,
# open to every network without a key, on a default kernel and a default Docker. Runs on the server; knows nothing of the collection.
#
#   before.sh IMAGE MODEL_FOLDER
set -euo pipefail
image=$1 model=$2

mkdir -p /data/llm
cp -r "$model" /data/llm/chat-model

docker run --detach --name chat-llm --restart unless-stopped --network host --volume /data/llm:/llm:ro "$image" \
  --model /llm/chat-model --served-model-name chat --host 0.0.0.0 --port 8000 --dtype float32 --enforce-eager \
  --max-model-len 65536 --kv-cache-memory-bytes 268435456 --max-num-seqs 1 >/dev/null
