// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Publishes a node's policy file at the node's start, if no policies are published. Not
 * thread-safe.
 */
final class FilePublisher {
  private static final Duration APPLY_TIMEOUT = Duration.ofSeconds(10);

  /** Pause before the next attempt, during which the node follows the log. */
  private static final long PAUSE_NANOS = Duration.ofSeconds(1).toNanos();

  /** Pause before the next attempt if the editor refused the file. */
  private static final long REFUSED_PAUSE_NANOS = Duration.ofSeconds(30).toNanos();

  private static final Logger LOG = LoggerFactory.getLogger(FilePublisher.class);

  private final AppliedFile file;
  private final String node;
  private final PolicyEditor editor;
  private long nextNanos = System.nanoTime();
  private @Nullable String problem;

  FilePublisher(AppliedFile file, String node, PolicyEditor editor) {
    this.file = file;
    this.node = node;
    this.editor = editor;
  }

  /** Returns the reason why the file is not published; null if there is none. */
  @Nullable String problem() {
    return problem;
  }

  /**
   * Publishes the file if the log is empty. If the log was lost, publishes the policies of the
   * snapshot instead. Never changes published policies, and logs a warning if they differ from the
   * file.
   *
   * @param state the valid content of the log
   * @return whether policies are published; if not, the caller must call this method again with the
   *     next state
   */
  boolean settle(PolicyLogState state, PolicySnapshot snapshot) {
    if (state.version() > 0) {
      warnOfDifference(state);
      problem = null;
      return true;
    }
    if (System.nanoTime() - nextNanos < 0) {
      return false;
    }
    PolicyLogState lost = snapshot.state();
    String name = lost == null ? file.name() : "-";
    nextNanos = System.nanoTime() + PAUSE_NANOS;
    try {
      PolicyEditor.Outcome outcome =
          editor.change(
              "node " + node + " at its start: " + (lost == null ? name : "lost policies"),
              APPLY_TIMEOUT,
              lost == null ? PolicyEdits.publishFirst(file) : PolicyEdits.restore(lost));
      LOG.info(
          "policies_published file={} version={} changed={}",
          name,
          outcome.after().version(),
          outcome.isChange());
    } catch (PolicyEditor.RefusedException refused) {
      LOG.error(
          "policy_file_not_published file={} detail=\"{}\"", file.name(), refused.getMessage());
      nextNanos = System.nanoTime() + REFUSED_PAUSE_NANOS;
      problem = "the policy file is not published: " + refused.getMessage();
    }
    return false;
  }

  private void warnOfDifference(PolicyLogState state) {
    int differences = PolicyEdits.drafts(state, file.tree()).size();
    if (differences > 0) {
      LOG.warn(
          "policy_file_differs file={} version={} differences={} detail=\"the published policies"
              + " stay in force; 'weir policies diff FILE' shows the differences, 'weir policies"
              + " apply FILE' publishes the file\"",
          file.name(),
          state.version(),
          differences);
    }
  }
}
