// SPDX-License-Identifier: Apache-2.0
package io.weir.decision.correction;

import io.weir.limits.correction.CorrectionOutcome;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Signals that some servers of a cache did not answer, so that the corrections of their buckets are
 * to be tried again, while the others have been dealt with.
 */
public final class PartlyUnavailableException extends CacheUnavailableException {
  private static final long serialVersionUID = 1L;

  private final transient List<@Nullable CorrectionOutcome> outcomes;

  /**
   * Creates an exception.
   *
   * @param outcomes the outcome of each correction of the call, null where there is none
   */
  public PartlyUnavailableException(String message, List<@Nullable CorrectionOutcome> outcomes) {
    super(message);
    this.outcomes = Collections.unmodifiableList(new ArrayList<>(outcomes));
  }

  /** Returns the outcome of each correction of the call, in order; null where there is none. */
  public List<@Nullable CorrectionOutcome> outcomes() {
    return outcomes;
  }
}
