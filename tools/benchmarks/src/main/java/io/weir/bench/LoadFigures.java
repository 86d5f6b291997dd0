// SPDX-License-Identifier: Apache-2.0
package io.weir.bench;

import org.HdrHistogram.Histogram;

/**
 * The results of a load: responses by status, their latencies, and the number of timely responses.
 */
final class LoadFigures {
  /** Maximum latency of a timely response. */
  private static final long GOOD_NANOS = 100_000_000;

  private static final long HIGHEST_MICROS = 120_000_000;
  private static final int SERVED = 200;
  private static final int SHED = 503;

  private final Histogram servedMicros = new Histogram(HIGHEST_MICROS, 3);
  private final Histogram shedMicros = new Histogram(HIGHEST_MICROS, 3);
  private final double seconds;
  private long served;
  private long good;
  private long others;

  LoadFigures(long lengthNanos) {
    this.seconds = lengthNanos / 1e9;
  }

  void answered(int status, long nanos) {
    long micros = Math.min(nanos / 1_000, HIGHEST_MICROS);
    if (status == SERVED) {
      served++;
      servedMicros.recordValue(micros);
      good += nanos <= GOOD_NANOS ? 1 : 0;
    } else if (status == SHED) {
      shedMicros.recordValue(micros);
    } else {
      others++;
    }
  }

  /**
   * Records a call without a response. The latencies include this call, but the call does not count
   * as served.
   */
  void unanswered(long nanos) {
    others++;
    servedMicros.recordValue(Math.min(nanos / 1_000, HIGHEST_MICROS));
  }

  double servedPerSecond() {
    return served / seconds;
  }

  String toLine() {
    return String.format(
        "served_per_s=%.0f timely_per_s=%.0f p50_ms=%.2f p99_ms=%.2f p999_ms=%.1f"
            + " shed_per_s=%.0f shed_p50_ms=%.1f shed_p99_ms=%.1f other_status_or_no_response=%d",
        servedPerSecond(),
        good / seconds,
        servedMicros.getValueAtPercentile(50) / 1e3,
        servedMicros.getValueAtPercentile(99) / 1e3,
        servedMicros.getValueAtPercentile(99.9) / 1e3,
        shedMicros.getTotalCount() / seconds,
        shedMicros.getValueAtPercentile(50) / 1e3,
        shedMicros.getValueAtPercentile(99) / 1e3,
        others);
  }
}
