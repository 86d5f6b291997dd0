// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.gate;

import org.jspecify.annotations.Nullable;

/** Knows the policies in force. Safe for threads. */
public interface CheckPlanner {
  /** What to ask for a call; null when no policy matches it. */
  @Nullable CheckPlan plan(Call call);

  /** Version of the policies in force. */
  long policiesVersion();
}
