// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.count;

/**
 * One life (epoch) of a bucket: what the cache says it charged, and what the records say. Not safe
 * for threads.
 */
final class BucketLine {
  /** Name of the life: when it began, by the cache's clock, in microseconds. */
  final long epoch;

  /** The cache's counter in the newest stamp. */
  long chargedTokens;

  /** When that stamp was made, by the cache's clock. */
  long stampedAtMicros;

  /** Σ cost of the records stamped with this epoch. */
  long exactTokens;

  /** exact − charged as it is accepted: positive where the counter went back, negative for gaps. */
  long driftTokens;

  /** Time of the first stamp that was seen after the counter went back; 0 when it never did. */
  long wentBackAtMicros;

  BucketLine(long epoch, long chargedTokens, long stampedAtMicros, long exactTokens, long drift) {
    this.epoch = epoch;
    this.chargedTokens = chargedTokens;
    this.stampedAtMicros = stampedAtMicros;
    this.exactTokens = exactTokens;
    this.driftTokens = drift;
  }

  /** Charged by the cache and not seen in a record yet: on its way, or lost. */
  long pendingTokens() {
    return Saturating.subtract(Saturating.add(chargedTokens, driftTokens), exactTokens);
  }

  /** Accepts what is recorded beyond what the cache has charged; gives how much that is. */
  long acceptOverlap() {
    long overlap = Math.max(0, -pendingTokens());
    driftTokens = Saturating.add(driftTokens, overlap);
    return overlap;
  }

  /** Accepts that so many tokens will never be recorded. */
  void acceptGap(long tokens) {
    driftTokens = Saturating.subtract(driftTokens, tokens);
  }
}
