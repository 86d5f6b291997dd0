// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.correct;

import java.util.ArrayList;
import java.util.List;

/** Ages of corrections, as they came. */
final class CollectedAges implements CorrectionStatistics.Ages {
  private final List<Long> disturbedMillis = new ArrayList<>();
  private final List<Long> computedMillis = new ArrayList<>();

  @Override
  public synchronized void sinceDisturbed(long millis) {
    disturbedMillis.add(millis);
  }

  @Override
  public synchronized void sinceComputed(long millis) {
    computedMillis.add(millis);
  }

  synchronized List<Long> disturbedMillis() {
    return List.copyOf(disturbedMillis);
  }

  synchronized List<Long> computedMillis() {
    return List.copyOf(computedMillis);
  }
}
