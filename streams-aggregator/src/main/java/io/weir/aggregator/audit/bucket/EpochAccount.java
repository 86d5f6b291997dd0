// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.aggregator.state.StoredMembers;
import io.weir.limits.LimitChange;
import io.weir.topics.model.Stamp;

/**
 * The account of one epoch of a bucket. The account contains the cache's counter of charged tokens
 * in the epoch, and the sum of the epoch's records. An epoch begins when the cache creates the
 * bucket, and ends when the bucket expires or the cache loses the bucket. Not thread-safe.
 *
 * <p>Decision record 0005 uses C for the counter, E for the sum of the records, and R for the
 * accepted drift.
 */
final class EpochAccount {
  /**
   * Start of the epoch by the cache's clock, in microseconds since 1970. The start identifies the
   * epoch.
   */
  private long epoch;

  /** The cache's counter in the newest stamp (C). */
  private long chargedTokens;

  /** Time of the newest stamp, by the cache's clock. */
  private long stampedAtMicros;

  /** Sum of the costs of the records stamped with this epoch (E). */
  private long exactTokens;

  /**
   * Accepted difference, recorded minus charged tokens (R). A decrease of the counter increases
   * this difference, and a gap decreases it.
   */
  private long driftTokens;

  /**
   * Time of the first stamp after the newest decrease of the counter; 0 if the counter never
   * decreased.
   */
  private long wentBackAtMicros;

  /** Tokens credited for gaps, minus the credited tokens that were recorded later. */
  private long gapTokens;

  /**
   * Duration by which the credit of {@code gapTokens} moved the time to full earlier. This duration
   * is shorter than the refill time of these tokens if the bucket had already refilled some of
   * them.
   */
  private long creditedMicros;

  /** The earliest time at which the newest credit of a gap could make the bucket full. */
  private long creditedFromMicros;

  /** The latest possible time of a credited charge. */
  private long gapUntilMicros;

  /**
   * Sum of the costs of the records that arrived after a gap and whose stamps are not later than
   * {@code gapUntilMicros}. This sum is an upper bound of the credited tokens that were recorded
   * later.
   */
  private long arrivedTokens;

  /**
   * The cache's counter in the first stamp if the audit trusted that stamp, otherwise 0. All
   * charges in a trusted counter count as recorded.
   */
  private long trustedTokens;

  /** Time of the trusted stamp. */
  private long trustedAtMicros;

  /** Part of {@code trustedTokens} for which no record has arrived yet. */
  private long trustedLeftTokens;

  /** Creates the account of an epoch without records. The fields describe the parameters. */
  EpochAccount(long epoch, long chargedTokens, long stampedAtMicros) {
    this.epoch = epoch;
    this.chargedTokens = chargedTokens;
    this.stampedAtMicros = stampedAtMicros;
  }

  /** Writes or reads the account. */
  void store(StoredMembers members) {
    epoch = members.integer(epoch);
    chargedTokens = members.integer(chargedTokens);
    stampedAtMicros = members.integer(stampedAtMicros);
    exactTokens = members.integer(exactTokens);
    driftTokens = members.integer(driftTokens);
    wentBackAtMicros = members.integer(wentBackAtMicros);
    gapTokens = members.integer(gapTokens);
    creditedMicros = members.integer(creditedMicros);
    creditedFromMicros = members.integer(creditedFromMicros);
    gapUntilMicros = members.integer(gapUntilMicros);
    arrivedTokens = members.integer(arrivedTokens);
    trustedTokens = members.integer(trustedTokens);
    trustedAtMicros = members.integer(trustedAtMicros);
    trustedLeftTokens = members.integer(trustedLeftTokens);
  }

  /** Creates the account of an epoch from the first record with a stamp of the epoch. */
  static EpochAccount ofStamp(Stamp stamp, long costTokens, long atMicros) {
    EpochAccount account = new EpochAccount(stamp.epoch(), stamp.charged(), atMicros);
    account.exactTokens = costTokens;
    return account;
  }

  /**
   * Creates the account of an epoch from its first known stamp. The log may lack earlier records,
   * so earlier charges count as recorded.
   */
  static EpochAccount ofTrusted(Stamp stamp, long costTokens, long atMicros) {
    EpochAccount account = ofStamp(stamp, costTokens, atMicros);
    account.driftTokens = Saturating.subtract(costTokens, stamp.charged());
    account.trustedTokens = stamp.charged();
    account.trustedAtMicros = atMicros;
    account.trustedLeftTokens = stamp.charged() - costTokens;
    return account;
  }

  /**
   * Consumes a charge that already counts as recorded because the first stamp was trusted. Returns
   * whether the charge was consumed. The sum of consumed charges is at most the counter of that
   * stamp. Further charges are not consumed. The cache made the further charges before it returned
   * to an older state.
   */
  boolean takeTrusted(Stamp stamp, long costTokens, long atMicros) {
    boolean isTrusted =
        costTokens > 0
            && costTokens <= trustedLeftTokens
            && stamp.charged() < trustedTokens
            && atMicros <= trustedAtMicros;
    if (isTrusted) {
      trustedLeftTokens -= costTokens;
    }
    return isTrusted;
  }

  long epoch() {
    return epoch;
  }

  long chargedTokens() {
    return chargedTokens;
  }

  long stampedAtMicros() {
    return stampedAtMicros;
  }

  long exactTokens() {
    return exactTokens;
  }

  long driftTokens() {
    return driftTokens;
  }

  long creditedFromMicros() {
    return creditedFromMicros;
  }

  /**
   * Returns the number of tokens of an overlap that belong to gaps. The cache charged the other
   * tokens twice, because it returned to an older state (simulation, seed 6000712).
   */
  long gapTokensIn(long tokens) {
    return Math.min(tokens, Math.min(gapTokens, arrivedTokens));
  }

  /**
   * Adds the cost of a record of this epoch. {@code atMicros} is the time of the record's stamp.
   */
  void addRecord(long costTokens, long atMicros) {
    if (gapTokens > 0 && atMicros <= gapUntilMicros) {
      arrivedTokens = Saturating.add(arrivedTokens, costTokens);
    }
    exactTokens = Saturating.add(exactTokens, costTokens);
  }

  /**
   * Moves the account to a newer stamp.
   *
   * @param wentBackTokens number of tokens by which the counter decreased before the stamp. These
   *     tokens are accepted as drift, so the decrease does not change the number of tokens in
   *     flight
   */
  void moveTo(Stamp stamp, long atMicros, long wentBackTokens) {
    chargedTokens = stamp.charged();
    driftTokens = Saturating.add(driftTokens, wentBackTokens);
    stampedAtMicros = Math.max(stampedAtMicros, atMicros);
  }

  /** Records that the stamp of this time is the first stamp after a decrease of the counter. */
  void noteWentBack(long atMicros) {
    wentBackAtMicros = atMicros;
  }

  /**
   * Returns whether a stamp of this epoch is newer than the newest known stamp. The stamp with the
   * greater counter is newer, unless the counter decreased while the clock advanced. A denial does
   * not change the counter. So the clock orders denials, and the version orders denials within a
   * millisecond. A charge with the same counter and millisecond as a denial precedes the denial
   * (simulation, seed 315353).
   *
   * @param confirmedVersion the version of the newest confirmed correction
   */
  boolean isNewest(Stamp stamp, long costTokens, long atMicros, long confirmedVersion) {
    if (atMicros < wentBackAtMicros) {
      return false;
    }
    if (atMicros != stampedAtMicros) {
      return atMicros > stampedAtMicros || stamp.charged() > chargedTokens;
    }
    return stamp.charged() > chargedTokens
        || (stamp.charged() == chargedTokens
            && costTokens == 0
            && stamp.version() >= confirmedVersion);
  }

  /**
   * Returns the number of tokens that the cache has charged for calls whose records are not known.
   * These records are in flight or lost.
   */
  long pendingTokens() {
    return Saturating.subtract(Saturating.add(chargedTokens, driftTokens), exactTokens);
  }

  /** Returns the number of recorded tokens that exceeds the cache's counter. */
  long overlapTokens() {
    return Math.max(0, -pendingTokens());
  }

  /** Adds recorded tokens that exceed the cache's counter to the accepted drift. */
  void acceptOverlap(long tokens) {
    driftTokens = Saturating.add(driftTokens, tokens);
  }

  /**
   * Accepts a gap, which is a number of charged tokens that will never be recorded.
   *
   * @param creditMicros duration by which the credit of the gap moves the time to full earlier
   * @param fullAtMicros time at which the bucket is full with the credit
   * @param untilMicros latest possible time of the missing charges
   */
  void acceptGap(long tokens, long creditMicros, long fullAtMicros, long untilMicros) {
    gapUntilMicros = Math.max(gapUntilMicros, untilMicros);
    driftTokens = Saturating.subtract(driftTokens, tokens);
    gapTokens = Saturating.add(gapTokens, tokens);
    creditedMicros = Saturating.add(creditedMicros, creditMicros);
    creditedFromMicros = fullAtMicros;
  }

  /**
   * Takes back credits of gaps, because some of the credited tokens were recorded later.
   *
   * @param tokens at most the result of {@link #gapTokensIn}
   * @param micros the time in which the bucket refills these tokens
   * @return the duration to take back, which is the lesser of {@code micros} and the credited
   *     duration
   */
  long takeBackGap(long tokens, long micros) {
    gapTokens -= tokens;
    arrivedTokens = gapTokens == 0 ? 0 : arrivedTokens - tokens;
    long takenBack = Math.min(micros, creditedMicros);
    creditedMicros = gapTokens == 0 ? 0 : creditedMicros - takenBack;
    return takenBack;
  }

  /** Converts the credited duration to the refill rate of a new limit. */
  void followCredit(LimitChange change) {
    creditedMicros = change.sameTokensMicros(creditedMicros);
  }

  /** Returns whether records of pending charges or of credited gaps may still arrive. */
  boolean isOpen() {
    return pendingTokens() > 0 || gapTokens > 0;
  }
}
