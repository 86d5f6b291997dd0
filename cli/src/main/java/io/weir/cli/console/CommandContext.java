// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.console;

import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.settings.Settings;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.Map;

/** The context of a command: the process's variables, the terminal, and Kafka. Thread-safe. */
public interface CommandContext {
  /** The variable with the address of Kafka. */
  String KAFKA = "WEIR_KAFKA";

  /** The exit status of a command that failed. */
  int FAILED = 1;

  /** The exit status of a command that is refused because its change is not confirmed. */
  int NOT_CONFIRMED = 3;

  /** Returns the process's variables. */
  Map<String, String> environment();

  /**
   * Asks the user a question at the terminal.
   *
   * @return false if the answer is not yes, or there is no terminal
   */
  boolean confirms(PrintWriter out, String question);

  /** Returns the value of a variable, or a default if it is unset or empty. */
  default String setting(String variable, String absent) {
    String value = environment().get(variable);
    return value == null || value.isEmpty() ? absent : value;
  }

  /**
   * Returns the value of a variable as a duration from 1 ms to 100 years, or a default if the
   * variable is unset or empty.
   */
  default Duration duration(String variable, Duration absent) {
    return Settings.of(environment())
        .duration(variable, absent, Duration.ofMillis(1), Duration.ofDays(36_500));
  }

  /**
   * Returns the connection to Kafka: to WEIR_KAFKA, or else to the broker of this user's running
   * {@code up}.
   *
   * @throws CommandFailedException if Kafka does not answer
   */
  default KafkaConnection kafka() {
    Settings settings = Settings.of(environment());
    KafkaConnection kafka =
        settings.text(KAFKA, "").isEmpty()
            ? RunningUp.kafka(settings).orElseGet(() -> KafkaConnection.of(settings))
            : KafkaConnection.of(settings);
    KafkaProbe.requireReachable(kafka);
    return kafka;
  }
}
