// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.testing.Checkout;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.errors.TimeoutException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;

/** A wrong option, or a wrong or missing variable, ends a command with 2 and a sentence. */
final class MisuseTest {
  private static final String RANGE = "--from 2026-11-21T00:00:00Z --to 2026-11-22T00:00:00Z";

  private final StringWriter errors = new StringWriter();

  private int run(Map<String, String> environment, String arguments) {
    CommandLine weir = WeirCommand.commandLine(environment).setErr(new PrintWriter(errors, true));
    return weir.execute(arguments.split(" ", -1));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "demo --seconds 0| --seconds must be 1 to 3600, but is 0",
        "demo --seconds x| Invalid value for option '--seconds': 'x' is not an int",
        "up --quick| Unknown option: '--quick'",
        "topics create --partitions 0| --partitions must be at least 1, but is 0",
        "topics create --replication-factor 2| --replication-factor must be at least 3, but is 2;"
            + " set WEIR_SINGLE_COPY=allow to use fewer copies",
        "policies explain| Missing required option: '--client=NAME'",
        "quarantine list --partition x| Invalid value for option '--partition': 'x' is not an int",
        "clients keys create a --expires-in 5s| --expires-in must be a duration from 1m to 36500d"
            + " such as 90d, 12h or PT30M, but is '5s'",
        "clients keys create a --expires-in 36501d| --expires-in must be a duration from 1m to"
            + " 36500d such as 90d, 12h or PT30M, but is '36501d'",
        "clients keys create a --expires-at 2020-01-01T00:00:00Z| --expires-at must be in the"
            + " future, but is 2020-01-01T00:00:00Z",
        "clients keys create a --expires-at 2999-01-01T00:00:00Z --expires-in 1d| give --expires-in"
            + " or --expires-at, not both",
        "clients keys create a --sha256 ab| --sha256 must be 64 lower-case hexadecimal digits",
        "clients keys revoke a weir_key| ID must be 1 to 64 of the characters A-Z a-z 0-9 . _ - and"
            + " not begin with weir_",
        "calls --client a --from 2026-11-22T00:00:00Z --to 2026-11-21T00:00:00Z| --from must be before"
            + " --to",
        "calls| Missing required option: '--client=C'",
        "ledger tail --max 0| --max must be at least 1, but is 0",
        "export stripe --mapping m --rate 0| --rate must be 1 to 1000, but is 0",
        "export stripe --mapping m --url http://stripe.example| --url must be an https address,"
            + " since it receives the secret key, but is 'http://stripe.example'",
        "export stripe --mapping m --rows stripe.state.kept| --rows must be another file than"
            + " --kept, to which rows are appended: move it first",
        "export stripe --mapping none| --mapping none cannot be read:"
            + " java.nio.file.NoSuchFileException: none",
        "verify --from now --to then| Invalid value for option '--from': 'now' is not an RFC 3339"
            + " time such as 2026-11-21T00:00:00Z"
      })
  void wrongOption_isReported_withAHintToHelp(String arguments, String problem) {
    assertEquals(2, run(Map.of("WEIR_KAFKA", "127.0.0.1:1"), arguments));

    List<String> said = errors.toString().lines().toList();
    assertEquals("weir: " + problem, said.get(0));
    assertTrue(said.get(said.size() - 1).matches("weir .*--help lists its .*"), said::toString);
    assertTrue(said.size() <= 3, said::toString);
  }

  @Test
  void stripeKey_missing_isReported() {
    assertEquals(2, run(Map.of(), "export stripe --mapping ../clients/samples/stripe.yml"));

    assertTrue(
        errors.toString().startsWith("weir: WEIR_STRIPE_KEY or WEIR_STRIPE_KEY_FILE must be set"),
        errors::toString);
  }

  @ParameterizedTest
  @CsvSource({
    "topics check",
    "topics create",
    "policies check --against-usage ../deploy/policies.yml",
    "quarantine list",
    "ledger tail",
    "calls --client a",
    "export stripe --dry-run --mapping ../clients/samples/stripe.yml",
    "verify " + RANGE,
    "ingest",
    "aggregate"
  })
  void missingKafka_isReported(String arguments) {
    assertEquals(2, run(Map.of(), arguments));

    assertTrue(errors.toString().startsWith("weir: WEIR_KAFKA is not set"), errors::toString);
    assertTrue(errors.toString().lines().count() <= 2, errors::toString); // ingest lacks Redis, too
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "topics create| WEIR_SINGLE_COPY| maybe",
        "topics check| WEIR_KAFKA| nonsense",
        "verify " + RANGE + "| WEIR_KAFKA| localhost",
        "ingest| WEIR_KAFKA| localhost:99999",
        "ledger tail| WEIR_KAFKA| :9092",
        "up| WEIR_PARTITIONS| 0",
        "up| WEIR_WINDOW| 15",
        "quarantine list| WEIR_LATENESS| soon",
        "verify " + RANGE + "| WEIR_WINDOW| 15",
        "ingest| WEIR_HTTP_PORT| 123456",
        "aggregate| WEIR_WINDOW| PT0S",
        "up| WEIR_REPORTS_PORT| http"
      })
  void wrongVariable_isNamed(String arguments, String variable, String value) {
    Map<String, String> environment = new HashMap<>();
    environment.put("WEIR_KAFKA", "127.0.0.1:1");
    environment.put("WEIR_REDIS", "redis://127.0.0.1:1");
    environment.put("WEIR_POLICIES", Checkout.file("deploy/policies.yml").toString());
    environment.put(variable, value);

    assertEquals(2, run(environment, arguments));
    assertTrue(errors.toString().startsWith("weir: " + variable), errors::toString);
  }

  /** In the past, the next wrong variable was reported only after the first was fixed. */
  @ParameterizedTest
  @CsvSource({"up", "aggregate"})
  void wrongVariables_areNamedTogether(String command) {
    Map<String, String> environment =
        Map.of(
            "WEIR_WINDOW", "7",
            "WEIR_GRACE", "-PT1S",
            "WEIR_REPORTS_PORT", "x",
            "WEIR_REDIS", "http://127.0.0.1",
            "WEIR_KAFKA", "localhost");

    assertEquals(2, run(environment, command));

    List<String> said = errors.toString().lines().map(String::strip).toList();
    assertEquals(5, said.size(), errors::toString);
    for (String variable : environment.keySet()) {
      assertTrue(
          said.stream().anyMatch(line -> line.replace("weir: ", "").startsWith(variable)),
          errors::toString);
    }
  }

  @Test
  void wrongVariables_areNamedWithMissingOnes() {
    assertEquals(2, run(Map.of("WEIR_HTTP_PORT", "x", "WEIR_KAFKA", "localhost:9092"), "ingest"));

    assertTrue(errors.toString().startsWith("weir: WEIR_REDIS is not set"), errors::toString);
    assertTrue(errors.toString().contains("\n      WEIR_HTTP_PORT must be"), errors::toString);
  }

  @Test
  void kafkaDoesNotAnswer_isReported() {
    assertEquals(
        "Kafka does not answer at 127.0.0.1:1 (WEIR_KAFKA): Timeout expired",
        WeirCommand.ofKafka(new TimeoutException("Timeout expired"), "127.0.0.1:1"));
  }

  /**
   * Regression: the command waited for half a minute or more, and reported only what Kafka's client
   * had waited for.
   */
  @Test
  void listenerThatIsNoKafka_isReported() throws Exception {
    try (ServerSocket silent = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
      String address = "127.0.0.1:" + silent.getLocalPort();

      assertEquals(1, run(Map.of("WEIR_KAFKA", address), "topics check"));

      assertTrue(
          errors
              .toString()
              .contains(
                  "Kafka does not answer at "
                      + address
                      + " (WEIR_KAFKA): the server there is not Kafka"),
          errors::toString);
    }
  }

  @ParameterizedTest
  @CsvSource({
    "topics check",
    "policies check --against-usage ../deploy/policies.yml",
    "quarantine list",
    "ledger tail",
    "verify " + RANGE
  })
  void unresolvableKafkaAddress_isReported_withTheReason(String arguments) {
    assertEquals(1, run(Map.of("WEIR_KAFKA", "nobody.invalid:9092"), arguments));

    String said = errors.toString();
    assertTrue(said.contains("WEIR_KAFKA") && said.contains("nobody.invalid"), said);
    assertTrue(said.contains("No resolvable bootstrap urls"), said);
    assertEquals(1, said.lines().count(), said);
  }

  @Test
  void invalidDuration_isReported() {
    assertEquals(2, run(Map.of(), "verify --wait 5 " + RANGE));
    assertTrue(
        errors.toString().contains("'5' is not an ISO 8601 duration such as PT1M"),
        errors::toString);
  }

  @Test
  void commandWithoutSubCommand_printsItsUsage() {
    assertEquals(2, run(Map.of(), "topics"));

    assertTrue(errors.toString().contains("Usage: weir topics"), errors::toString);
  }
}
