// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit;

import io.weir.limits.LimitChange;
import io.weir.topics.model.Stamp;

/**
 * Waits for the watermark to pass a bucket's newest stamp: what the cache had charged up to there
 * must then be recorded, and what is not never will be. Remembers what such a gap may have done
 * meanwhile: how near the bucket came to full, which bounds the credit, and how many calls it
 * refused. Both are kept for two checks, since a charge that is found missing by one may have been
 * made before the one before it. Not safe for threads.
 */
final class GapCheck {
  /** The stamp up to which records are summed. */
  long stampedAtMicros;

  /** The cache's counter in that stamp. */
  long chargedTokens;

  /** Σ cost of the records up to that stamp. */
  long exactTokens;

  /** The line's accepted drift when the check began. */
  long driftTokens;

  /** Least distance from full since the check before this one, and since this one. */
  long headroomMicros = Long.MAX_VALUE;

  long nextHeadroomMicros = Long.MAX_VALUE;

  /** Refusals since the check before this one, and since this one. */
  long refusals;

  long nextRefusals;

  /** Begins to wait for the watermark at a line's newest stamp. */
  void begin(EpochAccount line) {
    stampedAtMicros = line.stampedAtMicros;
    chargedTokens = line.chargedTokens;
    exactTokens = line.exactTokens;
    driftTokens = line.driftTokens;
  }

  /** Begins the next check when this one is done. */
  void beginNext(EpochAccount line) {
    headroomMicros = nextHeadroomMicros;
    refusals = nextRefusals;
    nextHeadroomMicros = Long.MAX_VALUE;
    nextRefusals = 0;
    begin(line);
  }

  /** Takes a record of the line, which may stand before the stamp. */
  void note(Stamp stamp, long costTokens, long at) {
    if (stamp.charged() <= chargedTokens && at <= stampedAtMicros) {
      exactTokens = Saturating.add(exactTokens, costTokens);
    }
  }

  void noteRefusal() {
    nextRefusals++;
  }

  /** The bucket was so far from full. */
  void noteHeadroom(long micros) {
    nextHeadroomMicros = Math.min(nextHeadroomMicros, Math.max(0, micros));
  }

  /** The limit has changed: the same tokens from full are another time. */
  void followHeadroom(LimitChange change) {
    headroomMicros = follow(headroomMicros, change);
    nextHeadroomMicros = follow(nextHeadroomMicros, change);
  }

  private static long follow(long micros, LimitChange change) {
    return micros == Long.MAX_VALUE ? micros : change.sameTokensMicros(micros);
  }

  /**
   * A gap was credited with so much: what it has left of the distances is for the others
   * (simulation, seed 60920).
   */
  void spendHeadroom(long micros) {
    headroomMicros = spend(headroomMicros, micros);
    nextHeadroomMicros = spend(nextHeadroomMicros, micros);
  }

  private static long spend(long headroom, long micros) {
    return headroom == Long.MAX_VALUE ? headroom : Math.max(0, headroom - micros);
  }

  /** Nothing is on its way, so that no gap can be older than this moment. */
  void forgetHeadroom() {
    headroomMicros = Long.MAX_VALUE;
    nextHeadroomMicros = Long.MAX_VALUE;
  }

  /** The most by which a bucket may become full earlier, whenever the missing charge was made. */
  long leastHeadroomMicros() {
    return Math.min(headroomMicros, nextHeadroomMicros);
  }

  /** Refusals that a missing charge may have caused. */
  long possibleRefusals() {
    return refusals + nextRefusals;
  }

  /** Whether every call up to the stamp is known. */
  boolean isDue(long watermarkMicros) {
    return watermarkMicros > stampedAtMicros;
  }

  /** Whether there is anything to find, or a newer stamp to wait for. */
  boolean isOpen(EpochAccount line) {
    return line.exactTokens != exactTokens
        || line.chargedTokens != chargedTokens
        || line.driftTokens != driftTokens
        || missingTokens() != 0;
  }

  /** What the cache has charged up to the stamp, and nobody recorded. */
  long missingTokens() {
    return Saturating.subtract(Saturating.add(chargedTokens, driftTokens), exactTokens);
  }
}
