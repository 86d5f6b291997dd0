// SPDX-License-Identifier: Apache-2.0
package io.weir.cli;

import io.weir.ingest.policy.log.PolicyEditor;
import io.weir.ingest.policy.log.PolicyEditor.RefusedException;
import io.weir.ingest.policy.log.PolicyEntry;
import io.weir.ingest.policy.log.PolicyLogReader;
import io.weir.ingest.policy.log.PolicyState;
import io.weir.topics.kafka.KafkaConnection;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** What is published in the log of policies of a cluster, for commands. */
final class PublishedPolicies {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final String CLIENT_ID = "weir-policies-command";

  private final KafkaConnection kafka;

  PublishedPolicies(KafkaConnection kafka) {
    this.kafka = kafka;
  }

  /** Reads all that is published now. */
  PolicyState read() {
    try (PolicyLogReader reader = PolicyLogReader.open(kafka, CLIENT_ID)) {
      PolicyState state = reader.readToEnd(PATIENCE);
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
   * Reads every change that the log still has, also if the newest cannot be decided by.
   *
   * @return why it cannot; null if it can
   */
  @Nullable String readChanges(Consumer<PolicyEntry> listener) {
    try (PolicyLogReader reader = PolicyLogReader.open(kafka, CLIENT_ID)) {
      reader.readToEnd(PATIENCE, listener);
      return reader.refusal();
    } catch (PolicyLogReader.IncompleteLogException notWhole) {
      return notWhole.getMessage();
    } catch (PolicyLogReader.NoSuchLogException missing) {
      throw new CommandFailedException(String.valueOf(missing.getMessage()), missing);
    }
  }

  /** Makes a change in the name of who runs the command. */
  PolicyEditor.Outcome change(String command, PolicyEditor.Change change) {
    try {
      return new PolicyEditor(kafka, CLIENT_ID)
          .change(System.getProperty("user.name") + ": weir " + command, PATIENCE, change);
    } catch (RefusedException refused) {
      throw new CommandFailedException(String.join("\n  ", refused.problems()), refused);
    }
  }
}
