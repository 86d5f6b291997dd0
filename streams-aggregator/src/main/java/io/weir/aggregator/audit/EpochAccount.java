// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.limits.LimitChange;

/**
 * One life (epoch) of a bucket: what the cache says it charged, and what the records say. Not safe
 * for threads.
 */
final class EpochAccount {
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

  /** Tokens that gaps gave up as never recorded, less those that were recorded after all. */
  long gapTokens;

  /** By how much the bucket was made full earlier for these: less where it had refilled since. */
  long creditedMicros;

  /** Time of the first stamp that was seen after the counter went back; 0 when it never did. */
  long wentBackAtMicros;

  EpochAccount(long epoch, long chargedTokens, long stampedAtMicros, long exactTokens, long drift) {
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

  /**
   * Accepts that so many tokens will never be recorded.
   *
   * @param creditMicros by how much the bucket is full earlier
   */
  void acceptGap(long tokens, long creditMicros) {
    driftTokens = Saturating.subtract(driftTokens, tokens);
    gapTokens = Saturating.add(gapTokens, tokens);
    creditedMicros = Saturating.add(creditedMicros, creditMicros);
  }

  /**
   * Takes back what a gap was credited with, since tokens of it were recorded after all.
   *
   * @param tokens at most {@link #gapTokens}
   * @param micros the time in which the bucket refills them
   * @return the time to take back
   */
  long takeBackGap(long tokens, long micros) {
    gapTokens -= tokens;
    long takenBack = Math.min(micros, creditedMicros);
    creditedMicros = gapTokens == 0 ? 0 : creditedMicros - takenBack;
    return takenBack;
  }

  /** The limit has changed: the same tokens are another time. */
  void followCredit(LimitChange change) {
    creditedMicros = change.sameTokensMicros(creditedMicros);
  }

  /** Whether records of it may still come that were charged or credited. */
  boolean isOpen() {
    return pendingTokens() > 0 || gapTokens > 0;
  }
}
