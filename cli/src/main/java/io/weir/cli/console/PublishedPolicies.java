// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.console;

import io.weir.ingest.policy.log.PolicyEditor;
import io.weir.ingest.policy.log.PolicyEditor.RefusedException;
import io.weir.ingest.policy.log.PolicyEntry;
import io.weir.ingest.policy.log.PolicyLogReader;
import io.weir.ingest.policy.log.PolicyLogState;
import io.weir.topics.kafka.KafkaConnection;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Reads and changes the policies in a cluster's policies topic, for commands. */
public final class PublishedPolicies {
  private static final Duration TIMEOUT = Duration.ofSeconds(30);
  private static final String CLIENT_ID = "weir-policies-command";

  private final KafkaConnection kafka;

  public PublishedPolicies(KafkaConnection kafka) {
    this.kafka = kafka;
  }

  /** Reads the current state of the topic. */
  public PolicyLogState read() {
    try (PolicyLogReader reader = PolicyLogReader.open(kafka, CLIENT_ID)) {
      PolicyLogState state = reader.readToEnd(TIMEOUT);
      String refusal = reader.refusal();
      if (refusal != null) {
        throw new CommandFailedException(refusal);
      }
      return state;
    } catch (PolicyLogReader.NoSuchLogException | PolicyLogReader.IncompleteLogException missing) {
      throw new CommandFailedException(String.valueOf(missing.getMessage()), missing);
    }
  }

  /**
   * Reads every change that the topic still contains, even if the newest state of the topic is
   * invalid.
   *
   * @return why the newest state is invalid; null if it is valid
   */
  public @Nullable String readChanges(Consumer<PolicyEntry> listener) {
    try (PolicyLogReader reader = PolicyLogReader.open(kafka, CLIENT_ID)) {
      reader.readToEnd(TIMEOUT, listener);
      return reader.refusal();
    } catch (PolicyLogReader.IncompleteLogException notWhole) {
      return notWhole.getMessage();
    } catch (PolicyLogReader.NoSuchLogException missing) {
      throw new CommandFailedException(String.valueOf(missing.getMessage()), missing);
    }
  }

  /**
   * Publishes a change. The recorded author is the operating system's user and the command line.
   */
  public PolicyEditor.Outcome change(String command, PolicyEditor.Change change) {
    try {
      return new PolicyEditor(kafka, CLIENT_ID)
          .change(System.getProperty("user.name") + ": weir " + command, TIMEOUT, change);
    } catch (RefusedException refused) {
      throw new CommandFailedException(String.join("\n  ", refused.problems()), refused);
    }
  }
}
