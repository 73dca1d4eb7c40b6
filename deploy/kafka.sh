#!/usr/bin/env bash
# kafka.sh - one real Apache Kafka node (KRaft) on this machine, for tests.
#
#   kafka.sh start   DIR [PORT]   start, making DIR at first; waits until it answers and prints its address
#   kafka.sh stop    DIR          SIGTERM, wait
#   kafka.sh kill    DIR          SIGKILL, as a crash
#   kafka.sh restart DIR          stop and start on the same data
#   kafka.sh status  DIR          running or not; exit status 0 or 3
#   kafka.sh env     DIR          shell assignments for the tests: eval "$(kafka.sh env DIR)"
#   kafka.sh wipe    DIR          stop and delete everything in DIR that this script made
#
# It listens on 127.0.0.1 only: plain text on PORT (19092 unless given), SASL_SSL with SCRAM-SHA-512 on PORT+1, the controller on PORT+2.
# It needs Java 17 and, once, mvn, which fetches Kafka from the registry that it is set up with.
#
# Environment, read when DIR is made and kept there:
#   KAFKA_VERSION=4.4.0   KAFKA_USER=liftstream   KAFKA_PASS=liftstream-test
#   KAFKA_EXTRA           more broker settings, one a line; they win
# Environment, read each time:
#   KAFKA_CACHE           where the jars are kept, one folder a version (default ${XDG_CACHE_HOME:-$HOME/.cache}/liftstream/kafka)
#   KAFKA_HEAP=512m       heap of the broker
#   KAFKA_WAIT=90         seconds to wait for it
set -euo pipefail

fail() { echo "kafka.sh: $*" >&2; exit 1; }
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2; }

[ $# -ge 2 ] || usage
command=$1
if [ "$command" = start ]; then mkdir -p "$2"; fi
[ -d "$2" ] || { echo "kafka.sh: $2 does not exist" >&2; exit 3; }
dir=$(cd "$2" && pwd)
wanted_port=${3:-}
case $dir in *[[:space:]]*) fail "DIR must not contain spaces: $dir" ;; esac

settings=$dir/settings
if [ -f "$settings" ]; then
  # shellcheck source=/dev/null
  . "$settings"
  made=1
else
  version=${KAFKA_VERSION:-4.4.0} port=${wanted_port:-19092} user=${KAFKA_USER:-liftstream} pass=${KAFKA_PASS:-liftstream-test} extra=${KAFKA_EXTRA:-}
  made=
fi
cache=${KAFKA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/liftstream/kafka}
jars=$cache/$version

# The process must be ours: a pid that the system has given to another is not.
pid() {
  local p
  p=$(cat "$dir/pid" 2>/dev/null) && [ -n "$p" ] && tr '\0' ' ' <"/proc/$p/cmdline" 2>/dev/null | grep -qF "kafka.Kafka $dir/server.properties" && echo "$p"
}

fetch() {
  if [ -f "$jars/complete" ]; then return; fi
  command -v mvn >/dev/null || fail "mvn is needed once, to fetch Kafka $version into $jars"
  mkdir -p "$jars"
  cat >"$jars/pom.xml" <<POM
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>liftstream</groupId>
  <artifactId>kafka</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>org.apache.kafka</groupId>
      <artifactId>kafka_2.13</artifactId>
      <version>$version</version>
    </dependency>
    <dependency>
      <groupId>org.slf4j</groupId>
      <artifactId>slf4j-simple</artifactId>
      <version>1.7.36</version>
    </dependency>
  </dependencies>
</project>
POM
  mvn --quiet --batch-mode --file "$jars/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$jars" >"$jars/mvn.log" 2>&1 ||
    { tail -n 20 "$jars/mvn.log" >&2; fail "fetching Kafka $version failed"; }
  touch "$jars/complete"
}

# A certificate for this node, signed by itself: clients trust ca.pem.
certify() {
  if [ -f "$dir/tls/ca.pem" ]; then return; fi
  mkdir -p "$dir/tls"
  rm -f "$dir/tls/server.p12"
  keytool -genkeypair -alias kafka -keyalg EC -groupname secp256r1 -validity 3650 -dname CN=localhost -ext san=ip:127.0.0.1,dns:localhost \
    -ext bc=ca:true -ext ku=digitalSignature,keyCertSign -storetype PKCS12 -keystore "$dir/tls/server.p12" -storepass changeit 2>/dev/null
  keytool -exportcert -rfc -alias kafka -keystore "$dir/tls/server.p12" -storepass changeit >"$dir/tls/ca.pem.new" 2>/dev/null
  mv "$dir/tls/ca.pem.new" "$dir/tls/ca.pem"
}

# Small numbers of internal partitions and no first-rebalance delay make it quick; the rest is as a single node needs it.
# Nothing is deleted by age: tests write events of years ago.
properties() {
  cat <<PROPERTIES
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:$((port + 2))
listeners=PLAINTEXT://127.0.0.1:$port,SASL_SSL://127.0.0.1:$((port + 1)),CONTROLLER://127.0.0.1:$((port + 2))
advertised.listeners=PLAINTEXT://127.0.0.1:$port,SASL_SSL://127.0.0.1:$((port + 1))
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;
ssl.keystore.type=PKCS12
ssl.keystore.location=$dir/tls/server.p12
ssl.keystore.password=changeit
ssl.key.password=changeit
log.dirs=$dir/data
auto.create.topics.enable=false
message.max.bytes=67108864
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
log.cleaner.backoff.ms=500
log.retention.ms=-1
$extra
PROPERTIES
}

class_path() { local all=("$jars"/*.jar) IFS=:; echo "${all[*]}"; }

# An ApiVersions request (version 0) over a bare socket: a node that answers it serves clients. An answer as long as the question is no
# answer: a socket may be connected to itself where PORT is one that the system gives to connections.
answers() {
  local length
  length=$(
    { exec 3<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null || exit 0
    printf '\0\0\0\012\0\022\0\0\0\0\0\001\377\377' >&3
    timeout 2 head -c 4 <&3 2>/dev/null | od -An -tx1 | tr -d ' \n'
  ) || true
  [ "${#length}" -eq 8 ] && [ "$length" != 0000000a ]
}

start() {
  local p deadline
  if p=$(pid); then echo "127.0.0.1:$port"; return; fi
  if [ -n "$made" ] && [ -n "$wanted_port" ] && [ "$wanted_port" != "$port" ]; then fail "$dir was made for port $port; wipe it first"; fi
  command -v java >/dev/null || fail "java 17 or later is needed"
  fetch
  if [ -z "$made" ]; then printf 'version=%q port=%q user=%q pass=%q extra=%q\n' "$version" "$port" "$user" "$pass" "$extra" >"$settings"; fi
  certify
  properties >"$dir/server.properties"
  if [ ! -f "$dir/data/meta.properties" ]; then
    # The user is part of the first metadata, so that no administration is needed later.
    java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$(class_path)" kafka.tools.StorageTool \
      format --cluster-id "$(head -c 16 /dev/urandom | base64 | tr '+/' 'ab' | tr -d '=')" --config "$dir/server.properties" \
      --add-scram "SCRAM-SHA-512=[name=$user,password=$pass]" >"$dir/format.log" 2>&1 || { cat "$dir/format.log" >&2; fail "formatting the storage failed"; }
  fi
  setsid java -Xms128m "-Xmx${KAFKA_HEAP:-512m}" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+ExitOnOutOfMemoryError -Djava.awt.headless=true \
    -Dorg.slf4j.simpleLogger.defaultLogLevel=info -Dorg.slf4j.simpleLogger.showDateTime=true \
    -cp "$(class_path)" kafka.Kafka "$dir/server.properties" >>"$dir/server.log" 2>&1 </dev/null &
  echo $! >"$dir/pid"
  deadline=$((SECONDS + ${KAFKA_WAIT:-90}))
  until answers; do
    pid >/dev/null || { sleep 0.2; pid >/dev/null || { tail -n 30 "$dir/server.log" >&2; fail "Kafka ended while starting; see $dir/server.log"; }; }
    [ "$SECONDS" -lt "$deadline" ] || fail "Kafka does not answer; see $dir/server.log"
    sleep 0.2
  done
  echo "127.0.0.1:$port"
}

# end SIGNAL: send it and wait; after 30 s by force.
end() {
  local p tenths=0
  p=$(pid) || return 0
  kill "-$1" "$p" 2>/dev/null || true
  while pid >/dev/null; do
    sleep 0.1
    tenths=$((tenths + 1))
    if [ "$tenths" -eq 300 ]; then
      echo "kafka.sh: no end after 30 s; SIGKILL" >&2
      kill -KILL "$p" 2>/dev/null || true
    fi
  done
  rm -f "$dir/pid"
}

case $command in
  start) start ;;
  stop) end TERM ;;
  kill) end KILL ;;
  restart) end TERM; start ;;
  status)
    if p=$(pid); then echo "running: pid $p, 127.0.0.1:$port, Kafka $version"; else echo "not running"; exit 3; fi ;;
  env)
    [ -n "$made" ] || fail "$dir has never been started"
    printf 'export LIFTSTREAM_KAFKA=%q\nexport LIFTSTREAM_KAFKA_SASL=%q\nexport LIFTSTREAM_KAFKA_CA=%q\n' "127.0.0.1:$port" "127.0.0.1:$((port + 1))" "$dir/tls/ca.pem"
    printf 'export LIFTSTREAM_KAFKA_USER=%q\nexport LIFTSTREAM_KAFKA_PASS=%q\n' "$user" "$pass" ;;
  wipe)
    end TERM
    rm -rf "$dir/data" "$dir/tls" "$settings" "$dir/server.properties" "$dir/server.log" "$dir/format.log" "$dir/pid"
    rmdir "$dir" 2>/dev/null || true ;;
  *) usage ;;
esac
