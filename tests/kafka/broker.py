"""A real Apache Kafka for tests: one node, KRaft, started in a second or two.

    python -m tests.kafka.broker [--port 9092]

Its jars come with `mvn dependency:copy-dependencies` (pom.xml beside this file) and stay in `.cache/kafka`.
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

from tests.kafka.certificates import write_certificates
from tests.servers import free_port

POM = Path(__file__).with_name("pom.xml")
JARS = Path(__file__).parents[2] / ".cache" / "kafka"
_START_SECONDS = 60
USER, PASSWORD = "collector", "collector-secret"

_PROPERTIES = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners={listeners},CONTROLLER://127.0.0.1:{controller}
advertised.listeners={listeners}
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map={protocols},CONTROLLER:PLAINTEXT
log.dirs={folder}/data
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
log.retention.check.interval.ms=1000
log.initial.task.delay.ms=500
message.max.bytes=50000000
replica.fetch.max.bytes=50000000
auto.create.topics.enable=false
ssl.keystore.type=PEM
ssl.keystore.location={folder}/server.pem
ssl.truststore.type=PEM
ssl.truststore.location={folder}/ca.pem
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER
{logins}
"""
_LOGINS = {
    "plain": 'org.apache.kafka.common.security.plain.PlainLoginModule required user_{user}="{password}"',
    "scram-sha-256": "org.apache.kafka.common.security.scram.ScramLoginModule required",
    "scram-sha-512": "org.apache.kafka.common.security.scram.ScramLoginModule required",
    # Takes unsigned tokens: for tests only, as its name says.
    "oauthbearer": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required "
    'unsecuredLoginStringClaim_sub="broker"',
}


class NoKafkaError(RuntimeError):
    """Apache Kafka cannot be had on this machine; the message says why."""


def jars() -> Path:
    """Folder with Kafka's jars, fetched by Maven the first time; NoKafkaError where that fails."""
    if JARS.exists():
        return JARS
    JARS.parent.mkdir(exist_ok=True)
    (JARS.parent / ".gitignore").write_text("*\n")
    with tempfile.TemporaryDirectory(dir=JARS.parent) as folder:
        command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=600)
        except (OSError, subprocess.SubprocessError) as error:
            said = getattr(error, "stdout", None) or ""
            raise NoKafkaError(f"Maven did not bring Kafka's jars: {error} {said[-500:]}") from error
        # Several runs may fetch them at once: the first whole folder stays.
        with contextlib.suppress(OSError):
            Path(folder).rename(JARS)
            Path(folder).mkdir()
    return JARS


@dataclass
class Broker:
    """One node; `stop` and `start` keep its data and its ports."""

    folder: Path
    port: int = field(default_factory=free_port)
    ports: dict[str, int] = field(
        default_factory=lambda: {name: free_port() for name in ("SSL", "SASL_PLAINTEXT", "SASL_SSL")}
    )
    _controller: int = field(default_factory=free_port)
    _process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """Bootstrap server for clients without encryption or login."""
        return f"127.0.0.1:{self.port}"

    def address_of(self, protocol: str) -> str:
        """Address of the listener SSL, SASL_PLAINTEXT or SASL_SSL."""
        return f"127.0.0.1:{self.ports[protocol]}"

    @property
    def ca(self) -> Path:
        """Certificate that signed the broker's."""
        return self.folder / "ca.pem"

    def format(self) -> None:
        """Write configuration and certificates, and prepare the storage with the user of SCRAM."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_certificates(self.folder)
        self._configuration.write_text(self._properties())
        scram = [
            word
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
            for word in ("--add-scram", f"{mechanism}=[name={USER},password={PASSWORD}]")
        ]
        command = self._java(
            "kafka.tools.StorageTool", "format", f"--cluster-id={_cluster_id()}", "-c", str(self._configuration)
        )
        try:
            subprocess.run([*command, *scram], check=True, capture_output=True, text=True)
        except (OSError, subprocess.CalledProcessError) as error:
            said = f"{getattr(error, 'stdout', '')} {getattr(error, 'stderr', '')}"
            raise NoKafkaError(f"Kafka's storage could not be made: {error} {said[-1000:]}") from error

    def start(self) -> None:
        """Run it; returns when it accepts connections, NoKafkaError where it does not."""
        with (self.folder / "broker.log").open("ab") as log:
            command = self._java("kafka.Kafka", str(self._configuration))
            self._process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            wait_for_port(self.port, self._process)
        except OSError as error:
            self.kill()
            said = (self.folder / "broker.log").read_text()[-2000:]
            raise NoKafkaError(f"Kafka does not come up: {error} {said}") from error

    def stop(self) -> None:
        """Shut it down in order, as an update of the broker does."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self._end(signal.SIGKILL)

    def wait(self) -> None:
        """Return when it has ended."""
        if self._process is not None:
            self._process.wait()

    def _end(self, with_signal: signal.Signals) -> None:
        if self._process is not None:
            self._process.send_signal(with_signal)
            self._process.wait()
            self._process = None

    @property
    def _configuration(self) -> Path:
        return self.folder / "server.properties"

    def _java(self, *words: str) -> list[str]:
        options = ["-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        return ["java", *options, "-cp", f"{jars()}{os.sep}*", *words]

    def _properties(self) -> str:
        ports = {"PLAINTEXT": self.port, **self.ports}
        logins = [
            f"listener.name.{protocol.lower()}.{mechanism}.sasl.jaas.config="
            f"{login.format(user=USER, password=PASSWORD)};"
            for protocol in ("SASL_PLAINTEXT", "SASL_SSL")
            for mechanism, login in _LOGINS.items()
        ]
        return _PROPERTIES.format(
            controller=self._controller,
            listeners=",".join(f"{protocol}://127.0.0.1:{port}" for protocol, port in ports.items()),
            protocols=",".join(f"{protocol}:{protocol}" for protocol in ports),
            folder=self.folder,
            logins="\n".join(logins),
        )


def wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    """Return when the process accepts connections there; OSError where it ends before, or does not in time."""
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _cluster_id() -> str:
    # Any 16 bytes in URL-safe base64.
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")


def main() -> None:
    """Run a broker until it is interrupted or asked to end."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    arguments = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    arguments.add_argument("--port", type=int, default=9092)
    with tempfile.TemporaryDirectory(prefix="kafka-") as folder:
        broker = Broker(Path(folder), arguments.parse_args().port)
        try:
            broker.format()
            broker.start()
            print(f"KAFKA_BOOTSTRAP_SERVERS={broker.address}", flush=True)
            broker.wait()
        except KeyboardInterrupt:
            broker.stop()


if __name__ == "__main__":
    main()
