#!/usr/bin/env bash
# run.sh DEPENDENCIES: the collection as a user of Galaxy gets it. Builds the tarball, installs it into an empty folder and runs
# its playbooks by name, from a folder that knows nothing of the checkout, against a disposable server over SSH.
#   DEPENDENCIES   folder that holds ansible_collections/ with the collections that this one depends on
set -euo pipefail

dependencies=$1/ansible_collections
root=$(cd "$(dirname "$0")/../.." && pwd)
machines=("$(command -v python)" "$root/tests/machines/machines.py")
server=galaxy-${INDIAAI_CHECKOUT_ID:-x}
work=$(mktemp -d)

finish() {
  "${machines[@]}" down "$server" >/dev/null 2>&1 || true
  rm -rf "$work"
}
trap finish EXIT

# Only what is installed below may be found: neither the checkout nor the interpreter's own folders.
export ANSIBLE_COLLECTIONS_SCAN_SYS_PATH=false ANSIBLE_COLLECTIONS_PATH=$work/installed
export ANSIBLE_HOST_KEY_CHECKING=false ANSIBLE_PIPELINING=true ANSIBLE_CALLBACKS_ENABLED=ansible.posix.profile_tasks

echo "== build"
cd "$work"
ansible-galaxy collection build --output-path "$work" "$root"
for unwanted in tests/ molecule/ playbooks/collections .ci/ .config/ Makefile ansible.cfg; do
  if tar -tzf indiaai-inference-*.tar.gz | grep -q "^$unwanted"; then
    echo "The tarball holds $unwanted, which only the repository needs (galaxy.yml, build_ignore)." >&2
    exit 1
  fi
done

echo "== install into an empty folder"
ansible-galaxy collection install --offline -p "$ANSIBLE_COLLECTIONS_PATH" indiaai-inference-*.tar.gz \
  "$dependencies"/community/library_inventory_filtering_v1 "$dependencies"/community/docker "$dependencies"/ansible/posix
ansible-galaxy collection verify --offline indiaai.inference
for kind in module filter callback role; do
  ansible-doc -t "$kind" -l indiaai.inference
done

echo "== server"
"${machines[@]}" down "$server" || true
"${machines[@]}" up "$server"
"${machines[@]}" inventory "$server" > inventory.json
cp "$root/tests/galaxy/vars.yml" vars.yml

echo "== gateway image, by the installed collection's own builder"
builder=$ANSIBLE_COLLECTIONS_PATH/ansible_collections/indiaai/inference/roles/api_gateway/files/build_image/build.py
echo "api_gateway_image_archive: $(python "$builder" | tail -n 1)" >> vars.yml

echo "== audit by name"
ansible-playbook -i inventory.json -e @vars.yml indiaai.inference.audit

echo "== site --check by name, on a server that has nothing yet"
ansible-playbook -i inventory.json -e @vars.yml --check --diff indiaai.inference.site | tee site.log
if grep -qE 'failed=[1-9]|unreachable=[1-9]' site.log; then exit 1; fi
