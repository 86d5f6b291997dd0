// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.correction;

import io.weir.limits.correction.CorrectionOutcome;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Thrown when some servers of a cache do not reply. The caller must retry the corrections that have
 * no outcome.
 */
public final class PartlyUnavailableException extends CacheUnavailableException {
  private static final long serialVersionUID = 1L;

  private final transient List<@Nullable CorrectionOutcome> outcomes;

  /**
   * Creates an exception.
   *
   * @param outcomes the outcome of each correction of the call; null for a correction that must be
   *     retried
   */
  public PartlyUnavailableException(String message, List<@Nullable CorrectionOutcome> outcomes) {
    super(message);
    this.outcomes = Collections.unmodifiableList(new ArrayList<>(outcomes));
  }

  /**
   * Returns one outcome per correction of the call, in the order of the corrections; null for a
   * correction that must be retried.
   */
  public List<@Nullable CorrectionOutcome> outcomes() {
    return outcomes;
  }
}
