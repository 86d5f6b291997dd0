// SPDX-License-Identifier: Apache-2.0
package io.weir.launcher;

import io.weir.ingest.policy.log.PolicyEditor;
import io.weir.ingest.policy.log.PolicyEditor.RefusedException;
import io.weir.ingest.policy.log.PolicyEntry;
import io.weir.ingest.policy.log.PolicyLogReader;
import io.weir.ingest.policy.log.PolicyState;
import java.time.Duration;
import java.util.function.Consumer;

/** What is published in the log of policies of a cluster, for commands. */
final class PublishedPolicies {
  private static final Duration PATIENCE = Duration.ofSeconds(30);
  private static final String CLIENT_ID = "weir-policies-command";

  private final String kafka;

  PublishedPolicies(String kafka) {
    this.kafka = kafka;
  }

  /** Reads all that is published now. */
  PolicyState read() {
    return read(entry -> {});
  }

  /**
   * Reads all that is published now.
   *
   * @param listener receives every change that the log still has, in the order of each topic
   */
  PolicyState read(Consumer<PolicyEntry> listener) {
    try (PolicyLogReader reader = PolicyLogReader.open(kafka, CLIENT_ID)) {
      PolicyState state = reader.readToEnd(PATIENCE, listener);
      String refusal = reader.refusal();
      if (refusal != null) {
        throw new CommandFailedException("the policies in Kafka: " + refusal);
      }
      return state;
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
