// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest;

import io.weir.ingest.event.EventRules;
import io.weir.ingest.event.EventRulesFile;
import io.weir.ingest.policy.PolicyFile;
import io.weir.ingest.policy.log.AppliedFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jspecify.annotations.Nullable;

/**
 * The valid contents of the files that a node's settings name. Immutable.
 *
 * @param policies the policy file; null if none is configured
 * @param events the rules of the event rules file; no rules if none is configured
 */
record ConfiguredFiles(@Nullable AppliedFile policies, EventRules events) {
  /**
   * Reads the files.
   *
   * @throws IngestStartException if a file cannot be read, or contains an invalid policy or rule
   */
  static ConfiguredFiles read(IngestConfig config) {
    return new ConfiguredFiles(policyFile(config), eventRules(config));
  }

  private static EventRules eventRules(IngestConfig config) {
    Path file = config.events();
    if (file == null) {
      return EventRules.none();
    }
    String named = "event rules file " + file.toAbsolutePath() + " (WEIR_EVENTS_FILE) ";
    EventRulesFile.Content content;
    try {
      content = EventRulesFile.parse(Files.readString(file), config.eventsMaxAge());
    } catch (IOException unreadable) {
      throw new IngestStartException(named + PolicyFile.reason(unreadable), unreadable);
    }
    if (content instanceof EventRulesFile.Content.Invalid invalid) {
      throw new IngestStartException(
          named + "is invalid:\n  " + String.join("\n  ", invalid.problems()));
    }
    return ((EventRulesFile.Content.Valid) content).rules();
  }

  private static @Nullable AppliedFile policyFile(IngestConfig config) {
    Path file = config.policies();
    if (file == null) {
      return null;
    }
    String named = "policy file " + file.toAbsolutePath() + " (WEIR_POLICIES) ";
    if (!Files.isRegularFile(file)) {
      throw new IngestStartException(
          named + (Files.exists(file) ? "is not a file" : "does not exist"));
    }
    PolicyFile.Content content;
    try {
      content = PolicyFile.read(file);
    } catch (IOException unreadable) {
      throw new IngestStartException(named + PolicyFile.reason(unreadable), unreadable);
    }
    if (content instanceof PolicyFile.Content.Invalid invalid) {
      throw new IngestStartException(
          "policy file "
              + file
              + " (WEIR_POLICIES) is invalid:\n  "
              + String.join("\n  ", invalid.problems()));
    }
    return AppliedFile.of(
        String.valueOf(file.getFileName()), ((PolicyFile.Content.Valid) content).tree());
  }
}
