// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.LimitChange;
import io.weir.topics.model.Stamp;

/**
 * The account of one epoch of a bucket: the cache's counter of charges in the epoch, and the sum of
 * the epoch's records. An epoch begins when the cache creates the bucket. It ends when the bucket
 * expires or the cache loses it. Not thread-safe.
 *
 * <p>Decision record 0005 calls the counter C, the sum of the records E and the accepted drift R.
 */
final class EpochAccount {
  /** When the epoch began, by the cache's clock, in microseconds since 1970; its identity. */
  private final long epoch;

  private long chargedTokens;
  private long stampedAtMicros;
  private long exactTokens;
  private long driftTokens;
  private long wentBackAtMicros;
  private long gapTokens;
  private long creditedMicros;
  private long creditedFromMicros;
  private long gapUntilMicros;
  private long arrivedTokens;
  private long trustedTokens;
  private long trustedAtMicros;
  private long trustedLeftTokens;

  /**
   * The account as a value.
   *
   * @param epoch when the epoch began, by the cache's clock, in microseconds since 1970
   * @param chargedTokens the cache's counter in the newest stamp (C)
   * @param stampedAtMicros time of that stamp, by the cache's clock
   * @param exactTokens Σ cost of the records stamped with this epoch (E)
   * @param driftTokens accepted part of recorded minus charged tokens (R): positive where the
   *     counter went back, negative for gaps
   * @param wentBackAtMicros time of the first stamp after the counter last went back; 0 if it never
   *     did
   * @param gapTokens tokens that gaps credited as never recorded, less those recorded after all
   * @param creditedMicros by how much the credit of these tokens moved the time to full earlier;
   *     less than their refill time if the bucket had refilled since
   * @param creditedFromMicros the earliest time at which the newest of these credits could make the
   *     bucket full
   * @param gapUntilMicros the latest possible time of a charge that a gap credited
   * @param arrivedTokens Σ cost of the records that arrived after a gap with charges up to that
   *     time; an upper bound of the recorded tokens of gaps
   * @param trustedTokens the cache's counter in the first stamp if that was trusted; earlier
   *     charges then count as recorded. 0 if it was not trusted
   * @param trustedAtMicros time of that stamp
   * @param trustedLeftTokens part of {@code trustedTokens} not seen in records yet
   */
  record State(
      long epoch,
      long chargedTokens,
      long stampedAtMicros,
      long exactTokens,
      long driftTokens,
      long wentBackAtMicros,
      long gapTokens,
      long creditedMicros,
      long creditedFromMicros,
      long gapUntilMicros,
      long arrivedTokens,
      long trustedTokens,
      long trustedAtMicros,
      long trustedLeftTokens) {}

  /** Creates the account of an epoch; for the parameters see {@link State}. */
  EpochAccount(
      long epoch, long chargedTokens, long stampedAtMicros, long exactTokens, long driftTokens) {
    this.epoch = epoch;
    this.chargedTokens = chargedTokens;
    this.stampedAtMicros = stampedAtMicros;
    this.exactTokens = exactTokens;
    this.driftTokens = driftTokens;
  }

  /** Restores an account from its state. */
  static EpochAccount of(State state) {
    EpochAccount account =
        new EpochAccount(
            state.epoch,
            state.chargedTokens,
            state.stampedAtMicros,
            state.exactTokens,
            state.driftTokens);
    account.wentBackAtMicros = state.wentBackAtMicros;
    account.gapTokens = state.gapTokens;
    account.creditedMicros = state.creditedMicros;
    account.creditedFromMicros = state.creditedFromMicros;
    account.gapUntilMicros = state.gapUntilMicros;
    account.arrivedTokens = state.arrivedTokens;
    account.trustedTokens = state.trustedTokens;
    account.trustedAtMicros = state.trustedAtMicros;
    account.trustedLeftTokens = state.trustedLeftTokens;
    return account;
  }

  /** Returns the account as a value. */
  State state() {
    return new State(
        epoch,
        chargedTokens,
        stampedAtMicros,
        exactTokens,
        driftTokens,
        wentBackAtMicros,
        gapTokens,
        creditedMicros,
        creditedFromMicros,
        gapUntilMicros,
        arrivedTokens,
        trustedTokens,
        trustedAtMicros,
        trustedLeftTokens);
  }

  /**
   * Creates the account of an epoch from its first known stamp. The log may lack earlier records,
   * so earlier charges count as recorded.
   */
  static EpochAccount ofTrusted(Stamp stamp, long costTokens, long atMicros) {
    EpochAccount account =
        new EpochAccount(
            stamp.epoch(),
            stamp.charged(),
            atMicros,
            costTokens,
            Saturating.subtract(costTokens, stamp.charged()));
    account.trustedTokens = stamp.charged();
    account.trustedAtMicros = atMicros;
    account.trustedLeftTokens = stamp.charged() - costTokens;
    return account;
  }

  /**
   * Consumes a charge that already counts as recorded because of the trusted first stamp; returns
   * whether it does. At most the counter of that stamp is consumed; charges beyond it were made
   * before the cache went back.
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

  /** Returns the identity of the epoch: its start in microseconds since 1970. */
  long epoch() {
    return epoch;
  }

  /** Returns the cache's counter in the newest stamp. */
  long chargedTokens() {
    return chargedTokens;
  }

  /** Returns the time of the newest stamp, by the cache's clock. */
  long stampedAtMicros() {
    return stampedAtMicros;
  }

  /** Returns Σ cost of the epoch's records. */
  long exactTokens() {
    return exactTokens;
  }

  /** Returns the accepted difference between records and counter. */
  long driftTokens() {
    return driftTokens;
  }

  /** Returns the earliest time at which the newest credit of a gap could make the bucket full. */
  long creditedFromMicros() {
    return creditedFromMicros;
  }

  /**
   * Returns how many tokens of an overlap belong to gaps. A cache that went back charged the rest
   * twice (simulation, seed 6000712).
   */
  long gapTokensIn(long tokens) {
    return Math.min(tokens, Math.min(gapTokens, arrivedTokens));
  }

  /** Adds the cost of a record of this epoch with a stamp of {@code atMicros}. */
  void addRecord(long costTokens, long atMicros) {
    if (gapTokens > 0 && atMicros <= gapUntilMicros) {
      arrivedTokens = Saturating.add(arrivedTokens, costTokens);
    }
    exactTokens = Saturating.add(exactTokens, costTokens);
  }

  /**
   * Moves the account to a newer stamp.
   *
   * @param wentBackTokens number of tokens by which the counter went back before the stamp;
   *     accepted as drift, so that charges in flight remain in flight
   */
  void moveTo(Stamp stamp, long atMicros, long wentBackTokens) {
    chargedTokens = stamp.charged();
    driftTokens = Saturating.add(driftTokens, wentBackTokens);
    stampedAtMicros = Math.max(stampedAtMicros, atMicros);
  }

  /** Records that the stamp of this time is the first after the counter went back. */
  void noteWentBack(long atMicros) {
    wentBackAtMicros = atMicros;
  }

  /**
   * Returns whether a stamp of this epoch is newer than the newest known one. The counter decides,
   * unless it went back while the clock advanced. A denial does not change the counter, so the
   * clock orders denials, and the version orders them within a millisecond. A charge with the same
   * counter and millisecond as a denial precedes the denial (simulation, seed 315353).
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

  /** Returns how many tokens the cache has charged without a known record: in flight, or lost. */
  long pendingTokens() {
    return Saturating.subtract(Saturating.add(chargedTokens, driftTokens), exactTokens);
  }

  /** Accepts all tokens recorded beyond the cache's counter as drift; returns their number. */
  long acceptOverlap() {
    long overlap = Math.max(0, -pendingTokens());
    acceptOverlap(overlap);
    return overlap;
  }

  /** Accepts a number of tokens recorded beyond the cache's counter as drift. */
  void acceptOverlap(long tokens) {
    driftTokens = Saturating.add(driftTokens, tokens);
  }

  /**
   * Accepts a gap: tokens that will never be recorded.
   *
   * @param creditMicros by how much their credit moves the time to full earlier
   * @param fullAtMicros when the bucket is full with that credit
   * @param untilMicros latest possible time of their charges
   */
  void acceptGap(long tokens, long creditMicros, long fullAtMicros, long untilMicros) {
    gapUntilMicros = Math.max(gapUntilMicros, untilMicros);
    driftTokens = Saturating.subtract(driftTokens, tokens);
    gapTokens = Saturating.add(gapTokens, tokens);
    creditedMicros = Saturating.add(creditedMicros, creditMicros);
    creditedFromMicros = fullAtMicros;
  }

  /**
   * Takes back credits of gaps, because some of their tokens were recorded after all.
   *
   * @param tokens at most the result of {@link #gapTokensIn}
   * @param micros the time in which the bucket refills these tokens
   * @return the time to take back: at most {@code micros} and at most the credited time
   */
  long takeBackGap(long tokens, long micros) {
    gapTokens -= tokens;
    arrivedTokens = gapTokens == 0 ? 0 : arrivedTokens - tokens;
    long takenBack = Math.min(micros, creditedMicros);
    creditedMicros = gapTokens == 0 ? 0 : creditedMicros - takenBack;
    return takenBack;
  }

  /** Converts the credited time to the refill rate of a changed limit. */
  void followCredit(LimitChange change) {
    creditedMicros = change.sameTokensMicros(creditedMicros);
  }

  /** Returns whether records of charges or of credited gaps may still arrive. */
  boolean isOpen() {
    return pendingTokens() > 0 || gapTokens > 0;
  }
}
