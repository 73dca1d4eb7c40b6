#!/usr/bin/env bash
# kafka.sh - a real Apache Kafka (KRaft) of one node, or of three, on this machine, for tests.
#
#   kafka.sh start   DIR [PORT]   start, making DIR at first; waits until it answers and prints its address
#   kafka.sh start   DIR NODE     start one node of three; the others are left as they are
#   kafka.sh stop    DIR [NODE]   SIGTERM, wait
#   kafka.sh kill    DIR [NODE]   SIGKILL, as a crash
#   kafka.sh restart DIR [NODE]   stop and start on the same data
#   kafka.sh status  DIR          running or not; exit status 0, or 3 unless all nodes run
#   kafka.sh env     DIR          shell assignments for the tests: eval "$(kafka.sh env DIR)"
#   kafka.sh wipe    DIR          stop and delete everything in DIR that this script made
#
# It listens on 127.0.0.1 only: plain text on PORT (19092 unless given), SASL_SSL with SCRAM-SHA-512 on PORT+1, the controller on PORT+2;
# node 2 ten ports above, node 3 twenty. Each of three nodes is broker and controller; topics then have three replicas, of which two must be
# in sync, unless they are created otherwise, and addresses are lists with commas.
# It needs Java 17 and, once, mvn, which fetches Kafka from the registry that it is set up with.
#
# Environment, read when DIR is made and kept there:
#   KAFKA_VERSION=4.4.0   KAFKA_USER=liftstream   KAFKA_PASS=liftstream-test
#   KAFKA_NODES=1         or 3
#   KAFKA_EXTRA           more broker settings, one a line; they win
# Environment, read each time:
#   KAFKA_CACHE           where the jars are kept, one folder a version (default ${XDG_CACHE_HOME:-$HOME/.cache}/liftstream/kafka)
#   KAFKA_HEAP=512m       heap of a node (320m where there are three)
#   KAFKA_WAIT=90         seconds to wait for it
set -euo pipefail

fail() { echo "kafka.sh: $*" >&2; exit 1; }
usage() { sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0" >&2; exit 2; }

[ $# -ge 2 ] || usage
command=$1
if [ "$command" = start ]; then mkdir -p "$2"; fi
[ -d "$2" ] || { echo "kafka.sh: $2 does not exist" >&2; exit 3; }
dir=$(cd "$2" && pwd)
# Nodes are numbers of one digit, ports are not.
wanted_port='' node=''
case ${3:-} in
  '') ;;
  [0-9]) node=$3 ;;
  *) wanted_port=$3 ;;
esac
case $dir in *[[:space:]]*) fail "DIR must not contain spaces: $dir" ;; esac

settings=$dir/settings
nodes=1 cluster= # folders that were made before there could be three do not tell
if [ -f "$settings" ]; then
  # shellcheck source=/dev/null
  . "$settings"
  made=1
else
  nodes=${KAFKA_NODES:-1}
  version=${KAFKA_VERSION:-4.4.0} port=${wanted_port:-19092} user=${KAFKA_USER:-liftstream} pass=${KAFKA_PASS:-liftstream-test} extra=${KAFKA_EXTRA:-}
  made=
fi
case $nodes in 1 | 3) ;; *) fail "KAFKA_NODES is 1 or 3, not $nodes" ;; esac
if [ -n "$node" ]; then
  [ "$node" -ge 1 ] && [ "$node" -le "$nodes" ] || fail "there is no node $node of $nodes"
  chosen=$node
else
  chosen=$(seq 1 "$nodes")
fi
cache=${KAFKA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/liftstream/kafka}
jars=$cache/$version

# home NODE: the folder of a node; of a single one it is DIR itself.
home() { if [ "$nodes" -eq 1 ]; then echo "$dir"; else echo "$dir/node$1"; fi; }

# port_of NODE: its first port.
port_of() { echo $((port + 10 * ($1 - 1))); }

# addresses OFFSET: of all nodes, of the listener that is so far above a node's first port.
addresses() {
  local i all=
  for i in $(seq 1 "$nodes"); do all=$all${all:+,}127.0.0.1:$(($(port_of "$i") + $1)); done
  echo "$all"
}

# pid NODE: the process must be ours: a pid that the system has given to another is not.
pid() {
  local p home
  home=$(home "$1")
  p=$(cat "$home/pid" 2>/dev/null) && [ -n "$p" ] && tr '\0' ' ' 2>/dev/null <"/proc/$p/cmdline" | grep -qF "kafka.Kafka $home/server.properties" && echo "$p"
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

# A certificate for all nodes, signed by itself: clients trust ca.pem.
certify() {
  if [ -f "$dir/tls/ca.pem" ]; then return; fi
  mkdir -p "$dir/tls"
  rm -f "$dir/tls/server.p12"
  keytool -genkeypair -alias kafka -keyalg EC -groupname secp256r1 -validity 3650 -dname CN=localhost -ext san=ip:127.0.0.1,dns:localhost \
    -ext bc=ca:true -ext ku=digitalSignature,keyCertSign -storetype PKCS12 -keystore "$dir/tls/server.p12" -storepass changeit 2>/dev/null
  keytool -exportcert -rfc -alias kafka -keystore "$dir/tls/server.p12" -storepass changeit >"$dir/tls/ca.pem.new" 2>/dev/null
  mv "$dir/tls/ca.pem.new" "$dir/tls/ca.pem"
}

# properties NODE: small numbers of internal partitions and no first-rebalance delay make it quick; the rest is as so many nodes need it.
# Nothing is deleted by age: tests write events of years ago. A node that is back leads again soon, so that its next end moves leaders, too.
properties() {
  local i voters= port=$port replicas=1 in_sync=1
  for i in $(seq 1 "$nodes"); do voters=$voters${voters:+,}$i@127.0.0.1:$(($(port_of "$i") + 2)); done
  if [ "$nodes" -eq 3 ]; then replicas=3 in_sync=2; fi
  port=$(port_of "$1")
  cat <<PROPERTIES
process.roles=broker,controller
node.id=$1
controller.quorum.voters=$voters
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
log.dirs=$(home "$1")/data
auto.create.topics.enable=false
message.max.bytes=67108864
default.replication.factor=$replicas
min.insync.replicas=$in_sync
offsets.topic.replication.factor=$replicas
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=$replicas
transaction.state.log.min.isr=$in_sync
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=$replicas
share.coordinator.state.topic.min.isr=$in_sync
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
log.cleaner.backoff.ms=500
log.retention.ms=-1
leader.imbalance.check.interval.seconds=10
$extra
PROPERTIES
}

class_path() { local all=("$jars"/*.jar) IFS=:; echo "${all[*]}"; }

# ask PORT REQUEST BYTES: the first bytes of the answer to a request over a bare socket, in hexadecimal digits; nothing where there is none.
ask() {
  {
    { exec 3<>"/dev/tcp/127.0.0.1/$1"; } 2>/dev/null || exit 0
    printf %b "$2" >&3
    timeout 2 head -c "$3" <&3 2>/dev/null | od -An -tx1 | tr -d ' \n'
  } || true
}

# answers NODE: a node that answers ApiVersions (version 0) serves clients; of three, one that names in its Metadata (version 1) as many
# brokers as are running. A socket may be connected to itself where PORT is one that the system gives to connections, and what comes back
# then is the question: its length, or what stands where the answer has the number of the question, tells.
answers() {
  local answer want=0 i
  if [ "$nodes" -eq 1 ]; then
    answer=$(ask "$port" '\0\0\0\012\0\022\0\0\0\0\0\001\377\377' 4)
    [ "${#answer}" -eq 8 ] && [ "$answer" != 0000000a ]
    return
  fi
  for i in $(seq 1 "$nodes"); do if pid "$i" >/dev/null; then want=$((want + 1)); fi; done
  answer=$(ask "$(port_of "$1")" '\0\0\0\016\0\003\0\001\0\0\0\007\377\377\0\0\0\0' 12)
  [ "${#answer}" -eq 24 ] && [ "${answer:8:8}" = 00000007 ] && [ $((16#${answer:16:8})) -ge "$want" ]
}

# launch NODE: start its process unless it runs.
launch() {
  local home heap=512m
  if pid "$1" >/dev/null; then return; fi
  home=$(home "$1")
  mkdir -p "$home"
  properties "$1" >"$home/server.properties"
  if [ ! -f "$home/data/meta.properties" ]; then
    # The user is part of the first metadata, so that no administration is needed later.
    java -Xmx256m -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$(class_path)" kafka.tools.StorageTool \
      format --cluster-id "$cluster" --config "$home/server.properties" \
      --add-scram "SCRAM-SHA-512=[name=$user,password=$pass]" >"$home/format.log" 2>&1 || { cat "$home/format.log" >&2; fail "formatting the storage failed"; }
  fi
  if [ "$nodes" -eq 3 ]; then heap=320m; fi
  setsid java -Xms128m "-Xmx${KAFKA_HEAP:-$heap}" -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+ExitOnOutOfMemoryError -Djava.awt.headless=true \
    -Dorg.slf4j.simpleLogger.defaultLogLevel=info -Dorg.slf4j.simpleLogger.showDateTime=true \
    -cp "$(class_path)" kafka.Kafka "$home/server.properties" >>"$home/server.log" 2>&1 </dev/null &
  echo $! >"$home/pid"
}

start() {
  local i home deadline missing=
  if [ -n "$node" ] && [ -z "$made" ]; then fail "$dir has never been started"; fi
  for i in $chosen; do pid "$i" >/dev/null || missing=1; done
  if [ -z "$missing" ]; then addresses 0; return; fi
  if [ -n "$made" ] && [ -n "$wanted_port" ] && [ "$wanted_port" != "$port" ]; then fail "$dir was made for port $port; wipe it first"; fi
  command -v java >/dev/null || fail "java 17 or later is needed"
  fetch
  cluster=${cluster:-$(head -c 16 /dev/urandom | base64 | tr '+/' 'ab' | tr -d '=')}
  if [ -z "$made" ]; then
    printf 'version=%q port=%q nodes=%q cluster=%q user=%q pass=%q extra=%q\n' "$version" "$port" "$nodes" "$cluster" "$user" "$pass" "$extra" >"$settings"
  fi
  certify
  for i in $chosen; do launch "$i"; done
  deadline=$((SECONDS + ${KAFKA_WAIT:-90}))
  for i in $chosen; do
    home=$(home "$i")
    until answers "$i"; do
      pid "$i" >/dev/null || { sleep 0.2; pid "$i" >/dev/null || { tail -n 30 "$home/server.log" >&2; fail "Kafka ended while starting; see $home/server.log"; }; }
      [ "$SECONDS" -lt "$deadline" ] || fail "Kafka does not answer; see $home/server.log"
      sleep 0.2
    done
  done
  addresses 0
}

# end SIGNAL: send it to the nodes and wait; after 30 s by force. Of three nodes that are stopped at once the last one waits in vain for a
# controller to let it go: what it has is on disk, and force comes after 10 s.
end() {
  local i p patience=30 deadline forced=
  if [ "$nodes" -eq 3 ] && [ -z "$node" ]; then patience=10; fi
  for i in $chosen; do if p=$(pid "$i"); then kill "-$1" "$p" 2>/dev/null || true; fi; done
  deadline=$((SECONDS + patience))
  for i in $chosen; do
    while p=$(pid "$i"); do
      if [ "$SECONDS" -ge "$deadline" ] && [ "$forced" != "$i" ]; then
        echo "kafka.sh: no end after $patience s; SIGKILL" >&2
        kill -KILL "$p" 2>/dev/null || true
        forced=$i
      fi
      sleep 0.1
    done
    rm -f "$(home "$i")/pid"
  done
}

case $command in
  start) start ;;
  stop) end TERM ;;
  kill) end KILL ;;
  restart) end TERM; start ;;
  status)
    down=
    for i in $(seq 1 "$nodes"); do
      name=; if [ "$nodes" -gt 1 ]; then name="node $i "; fi
      if p=$(pid "$i"); then echo "${name}running: pid $p, 127.0.0.1:$(port_of "$i"), Kafka $version"; else echo "${name}not running"; down=1; fi
    done
    [ -z "$down" ] || exit 3 ;;
  env)
    [ -n "$made" ] || fail "$dir has never been started"
    printf 'export LIFTSTREAM_KAFKA=%q\nexport LIFTSTREAM_KAFKA_SASL=%q\nexport LIFTSTREAM_KAFKA_CA=%q\n' "$(addresses 0)" "$(addresses 1)" "$dir/tls/ca.pem"
    printf 'export LIFTSTREAM_KAFKA_USER=%q\nexport LIFTSTREAM_KAFKA_PASS=%q\n' "$user" "$pass" ;;
  wipe)
    [ -z "$node" ] || usage
    end TERM
    for i in $(seq 1 "$nodes"); do
      home=$(home "$i")
      rm -rf "$home/data" "$home/server.properties" "$home/server.log" "$home/format.log" "$home/pid"
      rmdir "$home" 2>/dev/null || true
    done
    rm -rf "$dir/tls" "$settings"
    rmdir "$dir" 2>/dev/null || true ;;
  *) usage ;;
esac
