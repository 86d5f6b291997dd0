// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.audit.bucket;

import io.weir.limits.LimitChange;
import io.weir.topics.model.Stamp;

/**
 * The account of one epoch of a bucket: what the cache says it has charged in the epoch, and what
 * the records of the epoch sum to. An epoch begins when the cache creates the bucket and ends when
 * the cache has lost it or let it expire. Not thread-safe.
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
  private long cameTokens;
  private long believedTokens;
  private long believedAtMicros;
  private long believedLeftTokens;

  /**
   * The account as a value.
   *
   * @param epoch when the epoch began, by the cache's clock, in microseconds since 1970
   * @param chargedTokens the cache's counter in the newest stamp (C)
   * @param stampedAtMicros when that stamp was made, by the cache's clock
   * @param exactTokens Σ cost of the records stamped with this epoch (E)
   * @param driftTokens recorded minus charged, as far as it is accepted (R): positive where the
   *     counter went back, negative for gaps
   * @param wentBackAtMicros time of the first stamp after the counter last went back; 0 when it
   *     never did
   * @param gapTokens tokens that gaps gave up as never recorded, less those recorded after all
   * @param creditedMicros by how much the bucket was made full earlier for these: less than their
   *     refill time where the bucket had refilled since
   * @param creditedFromMicros from when the bucket could be full by the newest of these credits
   * @param gapUntilMicros the latest time at which a charge that a gap gave up can have been made
   * @param cameTokens Σ cost of the records that came since a gap and are not of after that time:
   *     no more can be of the gaps
   * @param believedTokens the cache's counter in the first stamp, if that was believed: what was
   *     charged before counts as recorded; 0 if it was not
   * @param believedAtMicros when that stamp was made
   * @param believedLeftTokens how much of that no record has shown
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
      long cameTokens,
      long believedTokens,
      long believedAtMicros,
      long believedLeftTokens) {}

  /** Opens the account of an epoch; the parameters are those of {@link State}. */
  EpochAccount(
      long epoch, long chargedTokens, long stampedAtMicros, long exactTokens, long driftTokens) {
    this.epoch = epoch;
    this.chargedTokens = chargedTokens;
    this.stampedAtMicros = stampedAtMicros;
    this.exactTokens = exactTokens;
    this.driftTokens = driftTokens;
  }

  /** Restores an account. */
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
    account.cameTokens = state.cameTokens;
    account.believedTokens = state.believedTokens;
    account.believedAtMicros = state.believedAtMicros;
    account.believedLeftTokens = state.believedLeftTokens;
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
        cameTokens,
        believedTokens,
        believedAtMicros,
        believedLeftTokens);
  }

  /**
   * Opens the account of an epoch whose beginning the log may lack, with the first stamp that is
   * known: what the cache charged before counts as recorded.
   */
  static EpochAccount ofBelieved(Stamp stamp, long costTokens, long atMicros) {
    EpochAccount account =
        new EpochAccount(
            stamp.epoch(),
            stamp.charged(),
            atMicros,
            costTokens,
            Saturating.subtract(costTokens, stamp.charged()));
    account.believedTokens = stamp.charged();
    account.believedAtMicros = atMicros;
    account.believedLeftTokens = stamp.charged() - costTokens;
    return account;
  }

  /**
   * Takes a charge if it is one of those that count as recorded by the first stamp: no more than
   * that stamp's counter has. What is beyond was charged before the cache went back.
   */
  boolean takeBelieved(Stamp stamp, long costTokens, long atMicros) {
    boolean isBelieved =
        costTokens > 0
            && costTokens <= believedLeftTokens
            && stamp.charged() < believedTokens
            && atMicros <= believedAtMicros;
    if (isBelieved) {
      believedLeftTokens -= costTokens;
    }
    return isBelieved;
  }

  /** Returns the epoch's name: when it began, in microseconds since 1970. */
  long epoch() {
    return epoch;
  }

  /** Returns the cache's counter in the newest stamp. */
  long chargedTokens() {
    return chargedTokens;
  }

  /** Returns when the newest stamp was made, by the cache's clock. */
  long stampedAtMicros() {
    return stampedAtMicros;
  }

  /** Returns Σ cost of the epoch's records. */
  long exactTokens() {
    return exactTokens;
  }

  /** Returns the difference between records and counter that is accepted. */
  long driftTokens() {
    return driftTokens;
  }

  /** Returns from when the bucket could be full by the newest credit of a gap. */
  long creditedFromMicros() {
    return creditedFromMicros;
  }

  /**
   * Returns how many of some tokens, recorded beyond the counter, are of gaps: the rest was charged
   * twice, by a cache that has gone back (simulation, seed 6000712).
   */
  long ofGaps(long tokens) {
    return Math.min(tokens, Math.min(gapTokens, cameTokens));
  }

  /** Adds the cost of a record of this epoch, stamped at a time. */
  void addRecord(long costTokens, long atMicros) {
    if (gapTokens > 0 && atMicros <= gapUntilMicros) {
      cameTokens = Saturating.add(cameTokens, costTokens);
    }
    exactTokens = Saturating.add(exactTokens, costTokens);
  }

  /**
   * Moves the account to a newer stamp.
   *
   * @param wentBackTokens by how much the counter went back before the stamp; accepted as drift, so
   *     that the charges in flight stay in flight
   */
  void moveTo(Stamp stamp, long atMicros, long wentBackTokens) {
    chargedTokens = stamp.charged();
    driftTokens = Saturating.add(driftTokens, wentBackTokens);
    stampedAtMicros = Math.max(stampedAtMicros, atMicros);
  }

  /** Notes that the stamp of this time is the first one after the counter went back. */
  void noteWentBack(long atMicros) {
    wentBackAtMicros = atMicros;
  }

  /**
   * Returns whether a stamp of this epoch is newer than the newest one that is known. The counter
   * decides, unless it went back while the clock went on. A refusal leaves the counter as it is:
   * refusals are ordered by the clock, and within a millisecond by the version. A charge that has
   * the counter of a refusal of its millisecond came before it (simulation, seed 315353).
   *
   * @param confirmedVersion the version of the newest correction that a stamp has shown
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

  /** Returns the tokens that the cache has charged and no record shows yet: in flight, or lost. */
  long pendingTokens() {
    return Saturating.subtract(Saturating.add(chargedTokens, driftTokens), exactTokens);
  }

  /** Accepts what is recorded beyond what the cache has charged; returns how much that is. */
  long acceptOverlap() {
    long overlap = Math.max(0, -pendingTokens());
    acceptOverlap(overlap);
    return overlap;
  }

  /** Accepts that tokens are recorded beyond what the cache has charged. */
  void acceptOverlap(long tokens) {
    driftTokens = Saturating.add(driftTokens, tokens);
  }

  /**
   * Accepts that tokens will never be recorded.
   *
   * @param creditMicros by how much the bucket is full earlier for them
   * @param fullAtMicros when it is full with that credit
   * @param untilMicros when the newest of them can have been charged
   */
  void acceptGap(long tokens, long creditMicros, long fullAtMicros, long untilMicros) {
    gapUntilMicros = Math.max(gapUntilMicros, untilMicros);
    driftTokens = Saturating.subtract(driftTokens, tokens);
    gapTokens = Saturating.add(gapTokens, tokens);
    creditedMicros = Saturating.add(creditedMicros, creditMicros);
    creditedFromMicros = fullAtMicros;
  }

  /**
   * Takes back what gaps were credited with, since tokens of them were recorded after all.
   *
   * @param tokens at most what {@link #ofGaps} returned
   * @param micros the time in which the bucket refills them
   * @return the time to take back: at most {@code micros}, and no more than was credited
   */
  long takeBackGap(long tokens, long micros) {
    gapTokens -= tokens;
    cameTokens = gapTokens == 0 ? 0 : cameTokens - tokens;
    long takenBack = Math.min(micros, creditedMicros);
    creditedMicros = gapTokens == 0 ? 0 : creditedMicros - takenBack;
    return takenBack;
  }

  /** Converts the credited time to the time in which a changed limit refills the same tokens. */
  void followCredit(LimitChange change) {
    creditedMicros = change.sameTokensMicros(creditedMicros);
  }

  /** Returns whether records that were charged or credited may still arrive. */
  boolean isOpen() {
    return pendingTokens() > 0 || gapTokens > 0;
  }
}
