#!/usr/bin/env bash
# release.sh - the files of a release, made the same way each time.
#
#   release.sh VERSION DIR
#
# DIR gets one archive for each of four platforms, with the program, completions for four shells, licence, README and
# changelog; an SBOM of each (CycloneDX, JSON) where cyclonedx-gomod is installed; and SHA256SUMS over all. Equal
# sources, compiler and VERSION give equal archives. The program says its VERSION and, in a clone, its commit.
#
# Environment:
#   PLATFORMS        "linux/amd64 linux/arm64 darwin/amd64 darwin/arm64", or fewer
#   CYCLONEDX        the program (default cyclonedx-gomod); where it is missing, the script says so and goes on
#   SOURCE_DATE_EPOCH  time of the files in the archives (default that of the last commit)
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2; }
version=$1
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || { echo "release.sh: $version is no version such as 1.2.3" >&2; exit 2; }
mkdir -p "$2"
out=$(cd "$2" && pwd)
cd "$(dirname "$0")/.."
platforms=${PLATFORMS:-linux/amd64 linux/arm64 darwin/amd64 darwin/arm64}
cyclonedx=${CYCLONEDX:-cyclonedx-gomod}
epoch=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
vcs=$(git rev-parse --git-dir >/dev/null 2>&1 && echo auto || echo false)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# build OS ARCH FILE: without cgo, so that the program needs no library of the machine it runs on.
build() {
  CGO_ENABLED=0 GOOS=$1 GOARCH=$2 GOFLAGS= go build -trimpath "-buildvcs=$vcs" -ldflags "-s -w -X main.version=$version" \
    -o "$3" ./cmd/liftstream
}

# The completions are the same on all platforms; the program of this one writes them.
build "$(go env GOHOSTOS)" "$(go env GOHOSTARCH)" "$work/host"
mkdir "$work/completions"
for shell in bash zsh fish powershell; do "$work/host" completion "$shell" >"$work/completions/liftstream.$shell"; done

for platform in $platforms; do
  os=${platform%/*} arch=${platform#*/}
  name=liftstream-$version-$os-$arch
  ending=; if [ "$os" = windows ]; then ending=.exe; fi
  mkdir "$work/$name"
  build "$os" "$arch" "$work/$name/liftstream$ending"
  cp -r "$work/completions" LICENSE README.md CHANGELOG.md "$work/$name/"
  if [ "$os" = linux ]; then cp 'deploy/systemd/liftstream@.service' "$work/$name/"; fi
  tar -C "$work" --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -n9 >"$out/$name.tar.gz"
  if command -v "$cyclonedx" >/dev/null; then
    # The bill has the time at which it was made. Licences are left out: the tool asks the network for each.
    "$cyclonedx" bin -json -noserial -version "$version" -output "$out/$name.cdx.json" \
      "$work/$name/liftstream$ending" 2>"$work/cyclonedx.log" || { cat "$work/cyclonedx.log" >&2; exit 1; }
  else
    echo "release.sh: no SBOM of $name: $cyclonedx is missing" >&2
  fi
  echo "$name.tar.gz"
done
(cd "$out" && sha256sum -- *.tar.gz $(ls -- *.cdx.json 2>/dev/null) >SHA256SUMS)
