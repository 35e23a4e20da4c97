#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Unpacks the tarball of the release that has the action's tag, unless there is a prof already. The
# release has prof-VERSION-ARCH.tar.gz (scripts/tarball), and their checksums in SHA256SUMS.
#
# Environment: PROF_REPOSITORY (OWNER/NAME) and PROF_TAG (vVERSION) of the action; GITHUB_SERVER_URL,
# GITHUB_PATH and RUNNER_TEMP are the runner's.
set -euo pipefail

if program=$(command -v prof); then
	echo "prof is there: $program"
	exit
fi
if [ -z "${PROF_REPOSITORY-}" ] || [ -z "${PROF_TAG-}" ]; then
	echo "::error title=prof::the action has no tag: install prof in a step before"
	exit 1
fi
name=prof-${PROF_TAG#v}-$(uname -m)
release=$GITHUB_SERVER_URL/$PROF_REPOSITORY/releases/download/$PROF_TAG
mkdir -p "$RUNNER_TEMP/prof"
cd "$RUNNER_TEMP/prof"
for file in SHA256SUMS "$name.tar.gz"; do
	curl --fail --silent --show-error --location --retry 3 --output "$file" "$release/$file"
done
grep -F "  $name.tar.gz" SHA256SUMS | sha256sum --check --strict
tar -xzf "$name.tar.gz"
echo "$PWD/$name/bin" >>"$GITHUB_PATH"
