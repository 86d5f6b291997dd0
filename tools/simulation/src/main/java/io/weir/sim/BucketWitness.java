// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.limits.BucketArithmetic;
import io.weir.limits.BucketKey;
import io.weir.limits.BucketLimit;
import io.weir.limits.BucketState;
import io.weir.limits.Refill;
import io.weir.limits.SlidingLog;
import io.weir.limits.SlidingWindowLimit;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.CheckDecider;
import io.weir.limits.check.Decision;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.CorrectionRule;
import io.weir.sim.InvariantBroken.Invariant;
import io.weir.topics.catalog.ClientPartitioner;
import io.weir.topics.model.Charge;
import io.weir.topics.model.Stamp;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Checks that each bucket admits at most its capacity and refill in any interval. Keeps its own
 * level for each bucket, and only admissions lower this level. Where a bucket may admit more than
 * this maximum, a comment begins with "permitted excess".
 */
final class BucketWitness implements CacheWitness {
  /**
   * Permitted excess: the refill within the rounding error of a call's time, because records have
   * times in whole milliseconds.
   */
  private static final double ROUNDING_TOKENS = 0.5;

  private final World world;
  private final TreeMap<String, Admissions> buckets = new TreeMap<>();
  private final TreeMap<String, List<CacheCharge>> charged = new TreeMap<>();
  private final Set<String> cutOff = new HashSet<>();
  private final LogWitness logs = new LogWitness();
  private final SlotWitness slots;
  private boolean wentBack;

  /** The watermark of each partition, by the time at which the counter reached it. */
  private final Map<Integer, TreeMap<Long, Long>> watermarks = new HashMap<>();

  /**
   * A charge that the cache has made, recorded or not.
   *
   * @param atMicros time of the charge by the cache's clock
   * @param epoch the bucket's epoch
   * @param charged the bucket's counter after this charge
   * @param tokens number of tokens charged
   * @param limit the limit of the bucket at the charge
   * @param foundFull whether the bucket was full in the cache before the charge
   */
  record CacheCharge(
      long atMicros, long epoch, long charged, long tokens, BucketLimit limit, boolean foundFull) {}

  private static final class Admissions {
    final boolean held;
    BucketLimit limit;
    double level;
    double allowance;
    int lossesSinceAdmitted;

    /** Tokens of charges that the cache has lost, unless a correction has charged them again. */
    long behindTokens;

    /** Whether a debt cap has limited a debit since the last credit. */
    boolean clamped;

    long passedMicros;

    Admissions(BucketRequest request, long passedMicros) {
      this.limit = request.limit();
      this.held = request.held();
      this.level = (double) limit.capacityTokens();
      this.passedMicros = passedMicros;
    }

    void refill(long nowPassedMicros) {
      Refill refill = limit.refill();
      if (refill != null) {
        double gained = refill.tokensIn(nowPassedMicros - passedMicros);
        level = Math.min((double) limit.capacityTokens(), level + gained);
      }
      passedMicros = nowPassedMicros;
    }

    /**
     * Changes the limit. A bucket that was full starts full. Another bucket keeps its remaining
     * tokens, and gains the refill since the last charge. This refill has the greater of the old
     * and the new rate, because the last charge may not have admitted its call.
     */
    void follow(BucketLimit changed, long nowPassedMicros) {
      BucketLimit before = limit;
      limit = changed;
      long more = changed.capacityTokens() - before.capacityTokens();
      allowance += Math.max(0, more) * lossesSinceAdmitted;
      Refill now = changed.refill();
      Refill then = before.refill();
      if (now != null && then != null) {
        long passed = nowPassedMicros - passedMicros;
        double gained = Math.max(now.tokensIn(passed), then.tokensIn(passed));
        boolean wasFull = level + gained >= before.capacityTokens();
        double most = changed.capacityTokens();
        level = wasFull ? most : Math.min(most, level + gained);
        passedMicros = nowPassedMicros;
      } else {
        level += more;
      }
    }
  }

  BucketWitness(World world) {
    this.world = world;
    this.slots = new SlotWitness(world);
  }

  /**
   * Returns the tokens by which a quota may stay too low after all faults have ended. If the cache
   * loses charges, and then charges the same number of tokens without a record, its counter reveals
   * neither error.
   *
   * @param recordedTokens tokens of the recorded charges that the cache made
   */
  long hiddenTokens(String bucket, long recordedTokens) {
    long tokens = charges(bucket).stream().mapToLong(CacheCharge::tokens).sum();
    return wentBack ? Math.max(0, tokens - recordedTokens) : 0;
  }

  /** Records the watermark that a partition has at a time. */
  void noteWatermark(int partition, long atMillis, long watermarkMillis) {
    watermarks
        .computeIfAbsent(partition, unseen -> new TreeMap<>())
        .merge(atMillis, watermarkMillis, Math::min);
  }

  /** Returns the watermark that the partition of a bucket had at a time; 0 if it had none. */
  long watermarkAt(String bucket, long millis) {
    String client = BucketKey.parse(bucket).client().shown();
    int partition = ClientPartitioner.partition(client, world.kafka().partitions());
    TreeMap<Long, Long> known = watermarks.getOrDefault(partition, new TreeMap<>());
    Map.Entry<Long, Long> newest = known.floorEntry(millis);
    return newest == null ? 0 : newest.getValue();
  }

  /** Returns whether the cache has ever returned to an older state. */
  boolean hasGoneBack() {
    return wentBack;
  }

  /** Returns the limit of each bucket that refills and has admitted calls. */
  Map<String, BucketLimit> refillingBuckets() {
    Map<String, BucketLimit> limits = new TreeMap<>();
    for (Map.Entry<String, Admissions> each : buckets.entrySet()) {
      BucketLimit limit = each.getValue().limit;
      if (limit.refills() && limit.capacityTokens() > 0) {
        limits.put(each.getKey(), limit);
      }
    }
    return limits;
  }

  /** Returns whether a debt cap has ever limited the debt of a bucket. */
  boolean wasCutOff(String bucket) {
    return cutOff.contains(bucket);
  }

  /** Returns the witness of slots. */
  SlotWitness slots() {
    return slots;
  }

  /** Returns all charges that the cache has made to a bucket, in order. */
  List<CacheCharge> charges(String bucket) {
    return charged.getOrDefault(bucket, List.of());
  }

  /** Records the tokens that a decision admits. */
  AdmittedTokens admitted(Check check, Decision decision) {
    if (!(decision instanceof Decision.Allowed allowed)) {
      return AdmittedTokens.NONE;
    }
    List<Admissions> charged = new ArrayList<>();
    List<AdmittedTokens> logged = new ArrayList<>();
    long passed = world.redis().clock().passedMicros();
    for (int i = 0; i < check.buckets().size(); i++) {
      BucketRequest request = check.buckets().get(i);
      BucketReply reply = allowed.buckets().get(i);
      if (reply.charged() && request.limit() instanceof SlidingLog log) {
        logged.add(
            logs.admitted(request.bucket(), log, check.cost(), allowed.decidedAtEpochMicros()));
      } else if (reply.charged() && !request.hasSlots()) {
        Admissions bucket =
            buckets.computeIfAbsent(request.bucket(), unseen -> new Admissions(request, passed));
        if (!bucket.limit.equals(request.limit())) {
          bucket.follow(request.limit(), passed);
        }
        bucket.refill(passed);
        bucket.lossesSinceAdmitted = 0;
        bucket.level -= check.cost();
        charged.add(bucket);
        world
            .trace()
            .note("charged", request.bucket(), check.cost(), reply.remainingTokens(), bucket.level);
        if (bucket.level + bucket.allowance < -ROUNDING_TOKENS) {
          throw new InvariantBroken(
              Invariant.ADMITTED,
              request.bucket()
                  + " admits "
                  + -(bucket.level + bucket.allowance)
                  + " tokens more than capacity, refill and the permitted excess of "
                  + bucket.allowance);
        }
        if (request.limit() instanceof SlidingWindowLimit sliding) {
          requireWindow(request.bucket(), sliding, allowed.decidedAtEpochMicros());
        }
      }
    }
    return () -> {
      charged.forEach(bucket -> bucket.level += check.cost());
      logged.forEach(AdmittedTokens::takeBack);
    };
  }

  /**
   * Checks that the sub-windows of a sliding window, including the next sub-window, have together
   * admitted at most the limit. The oldest sub-window counts only with the part that is still in
   * the window.
   */
  private void requireWindow(String bucket, SlidingWindowLimit limit, long nowEpochMicros) {
    List<String> covered = new ArrayList<>(limit.otherBuckets(bucket));
    covered.add(bucket);
    double part = (double) (limit.subWindowEndsAtMicros() - nowEpochMicros) / limit.windowMicros();
    double used = 0;
    double allowance = 0;
    for (int i = 0; i < covered.size(); i++) {
      Admissions admissions = buckets.get(covered.get(i));
      if (admissions != null) {
        double weight = i == 0 ? Math.max(0, Math.min(part, 1)) : 1;
        used += weight * (admissions.limit.capacityTokens() - admissions.level);
        allowance += admissions.allowance;
      }
    }
    if (used > limit.capacityTokens() + allowance + ROUNDING_TOKENS) {
      throw new InvariantBroken(
          Invariant.ADMITTED,
          bucket
              + " admits "
              + used
              + " tokens together with its earlier sub-windows and the next one; the maximum is "
              + limit.capacityTokens()
              + " plus a permitted excess of "
              + allowance);
    }
  }

  /** Records tokens that a node has taken in advance. The tokens count as admitted from now on. */
  List<Loan> lent(Check check, Decision.Allowed allowed, long heldMillis) {
    AdmittedTokens unused = admitted(check, allowed);
    List<Loan> loans = new ArrayList<>();
    for (BucketRequest request : check.buckets()) {
      loans.add(new Loan(request, check.cost(), heldMillis, allowed.decidedAtEpochMicros()));
    }
    return loans;
  }

  /** Tokens that a node has taken in advance. */
  final class Loan {
    private final String bucket;
    private final long tokens;
    private final long heldMillis;
    private final BucketLimit limit;
    private final long atMicros;

    /** The state of the bucket after the charge. */
    private final BucketState lent;

    private long left;
    private boolean isOver;

    private Loan(BucketRequest request, long tokens, long heldMillis, long atMicros) {
      this.heldMillis = heldMillis;
      this.bucket = request.bucket();
      this.limit = request.limit();
      this.atMicros = atMicros;
      this.lent = Objects.requireNonNull(world.redis().kept(bucket));
      this.tokens = tokens;
      this.left = tokens;
    }

    /** Returns the maximum low watermark of the node while the node holds the tokens. */
    long heldMillis() {
      return heldMillis;
    }

    /**
     * Records the charge of a recorded call. Returns whether the call used these tokens.
     *
     * @param takenAtMillis time at which the tokens of the call were leased. The time is needed
     *     because a cache that has returned to an older state may lease other tokens with the same
     *     counter
     */
    boolean use(Charge charge, long takenAtMillis) {
      Stamp stamp = charge.stamp();
      if (stamp == null
          || isOver
          || atMicros / 1_000 != takenAtMillis
          || !charge.bucket().equals(bucket)
          || stamp.epoch() != lent.epoch()
          || stamp.charged() <= lent.chargedTokens() - tokens
          || stamp.charged() > lent.chargedTokens()) {
        return false;
      }
      left -= charge.cost();
      if (left < 0) {
        throw new InvariantBroken(
            Invariant.ADMITTED,
            "calls have taken "
                + (tokens - left)
                + " of "
                + tokens
                + " leased tokens of "
                + bucket);
      }
      requireFullAt(stamp);
      split(charge, stamp);
      return true;
    }

    /**
     * Checks the time at which the bucket is full according to a stamp. The time must be computed
     * with only those leased tokens that this call and earlier calls have used.
     */
    private void requireFullAt(Stamp stamp) {
      BucketArithmetic arithmetic = limit.arithmetic();
      long left = lent.chargedTokens() - stamp.charged();
      BucketState then =
          new BucketState(
              lent.units() + left * arithmetic.unitsPerToken(),
              lent.unitsPerToken(),
              lent.lastEpochMicros(),
              lent.epoch(),
              lent.correctedEpoch(),
              lent.version(),
              lent.chargedTokens());
      long late = stamp.fullAtEpochMicros() - atMicros - arithmetic.resetMicros(then, atMicros);
      if (late < 0 || late > arithmetic.parameters().tickMicros()) {
        throw new InvariantBroken(
            Invariant.ADMITTED,
            "a leased call of " + bucket + " is full " + late + " µs too late: " + stamp);
      }
    }

    /** Splits the charge of the lease into the charge of this call and the rest. */
    private void split(Charge charge, Stamp stamp) {
      List<CacheCharge> all = BucketWitness.this.charged.getOrDefault(bucket, List.of());
      for (int i = 0; i < all.size(); i++) {
        CacheCharge whole = all.get(i);
        if (whole.epoch() == lent.epoch() && whole.charged() == lent.chargedTokens()) {
          long rest = whole.tokens() - charge.cost();
          CacheCharge part =
              new CacheCharge(
                  whole.atMicros(),
                  whole.epoch(),
                  stamp.charged(),
                  charge.cost(),
                  whole.limit(),
                  whole.foundFull());
          all.set(
              i,
              new CacheCharge(
                  whole.atMicros(), whole.epoch(), whole.charged(), rest, whole.limit(), false));
          all.add(i, part);
          if (rest == 0) {
            all.remove(i + 1);
          }
          return;
        }
      }
    }

    /** Ends the lease. The remaining tokens no longer count as admitted. */
    void end() {
      Admissions admissions = buckets.get(bucket);
      if (admissions != null) {
        admissions.level += left;
      }
      left = 0;
      isOver = true;
    }
  }

  /** Permitted excess: a bucket may admit tokens again that a settlement has returned. */
  void refunded(List<Charge> charges, long tokens) {
    for (Charge charge : charges) {
      Admissions bucket = buckets.get(charge.bucket());
      if (bucket != null && charge.cost() > 0) {
        bucket.allowance += tokens;
      }
    }
  }

  /**
   * Permitted excess: if a lost disk contained the records of answered calls, a correction returns
   * their charges.
   */
  void recordsLost(List<Charge> charges) {
    for (Charge charge : charges) {
      Admissions bucket = buckets.get(charge.bucket());
      if (bucket != null) {
        bucket.allowance += charge.cost();
      }
    }
  }

  /**
   * Permitted excess: after each loss of the cache, each bucket may admit its capacity again, and
   * the tokens of a debt from a lowered limit. A quota with {@code on_cold_cache: hold} may exceed
   * its limit only if no node could detect the loss.
   */
  @Override
  public void cacheLost(Map<String, Long> behind, boolean seen) {
    logs.cacheLost();
    slots.cacheLost();
    wentBack |= !behind.isEmpty();
    behind.forEach(this::noteBehind);
    for (Admissions bucket : buckets.values()) {
      if (!bucket.held || !seen) {
        bucket.refill(world.redis().clock().passedMicros());
        bucket.allowance =
            Math.max(bucket.allowance, -bucket.level) + bucket.limit.capacityTokens();
        bucket.lossesSinceAdmitted++;
      }
    }
  }

  private void noteBehind(String bucket, long tokens) {
    Admissions admissions = buckets.get(bucket);
    if (admissions != null) {
      admissions.behindTokens =
          Math.min(admissions.limit.capacityTokens(), admissions.behindTokens + tokens);
    }
  }

  /**
   * Permitted excess: a correction may compare a time before the step with a time after the step.
   * The tokens that the correction then returns in excess are at most the refill during the step.
   */
  @Override
  public void clockSetBack(long byMicros) {
    long before = world.redis().clock().epochMicros() + byMicros;
    logs.clockSetBack(before);
    slots.clockSetBack(before, byMicros);
    for (Admissions bucket : buckets.values()) {
      Refill refill = bucket.limit.refill();
      if (refill != null) {
        bucket.allowance += refill.tokensIn(byMicros);
      }
    }
  }

  @Override
  public void decided(Check check, CheckDecider.Outcome outcome) {
    boolean writes =
        !(outcome.writes().isEmpty()
            && outcome.logs().isEmpty()
            && outcome.slots().stream().allMatch(CheckDecider.SlotWrite::restarted));
    if (!(outcome.decision() instanceof Decision.Allowed) && writes) {
      throw new InvariantBroken(Invariant.DENY, "a call that is not allowed writes " + outcome);
    }
    long at = world.redis().clock().epochMicros();
    for (CheckDecider.Write write : outcome.writes()) {
      BucketState state = write.state();
      BucketLimit limit =
          check.buckets().stream()
              .filter(request -> request.bucket().equals(write.bucket()))
              .map(BucketRequest::limit)
              .findFirst()
              .orElseThrow();
      BucketArithmetic arithmetic = limit.arithmetic();
      boolean foundFull =
          arithmetic.levelUnits(state) + check.cost() * arithmetic.unitsPerToken()
              >= arithmetic.capacityUnits();
      charged
          .computeIfAbsent(write.bucket(), unseen -> new ArrayList<>())
          .add(
              new CacheCharge(
                  at, state.epoch(), state.chargedTokens(), check.cost(), limit, foundFull));
    }
  }

  @Override
  public void corrected(
      BoundedCorrection bounded, @Nullable BucketState before, CorrectionRule.Result result) {
    Correction correction = bounded.correction();
    BucketState after = result.state();
    world
        .trace()
        .note(
            "correction",
            correction.cause().wireName(),
            correction.bucket(),
            correction.epoch(),
            correction.version(),
            result.outcome().kind().name(),
            result.outcome().changeTokens(),
            levels(correction, before, after));
    if (after == null) {
      return;
    }
    checkOrder(correction, before, after);
    if (correction.limit().arithmetic().levelUnits(after)
        > correction.limit().arithmetic().capacityUnits()) {
      throw broken(correction, before, after, "is above its capacity");
    }
    Admissions bucket = buckets.get(correction.bucket());
    if (bucket != null && !bucket.limit.equals(correction.limit())) {
      // the bucket has the limit that was in force at the correction
      bucket.allowance += givenByRaisedLimit(bucket, correction, result.outcome().changeTokens());
      bucket.follow(correction.limit(), world.redis().clock().passedMicros());
    }
    if (bucket != null
        && bucket.clamped
        && correction.cause() == Correction.Cause.GAP
        && result.outcome().changeTokens() > 0) {
      // permitted excess: a debt cap may have removed the charge that the correction returns
      bucket.allowance += result.outcome().changeTokens();
      bucket.clamped = false;
    }
    if (result.outcome().clamped()) {
      cutOff.add(correction.bucket());
    }
    if (bucket != null && result.outcome().clamped()) {
      bucket.clamped = true;
    }
    if (bucket != null) {
      bucket.allowance += silentTokens(correction, result.outcome().changeTokens());
      bucket.allowance += givenTokens(bucket, correction, result.outcome().changeTokens());
    }
  }

  /**
   * Permitted excess: if a node was silent for too long, a correction does not include its calls.
   * These calls may arrive before a node applies the correction (seed 705235).
   */
  private long silentTokens(Correction correction, long changeTokens) {
    boolean mayMiss =
        correction.cause() == Correction.Cause.GAP
            || correction.cause() == Correction.Cause.RESTORE;
    if (!mayMiss && changeTokens <= 0) {
      return 0;
    }
    long tokens = world.tokensOfSilentNodes(correction.bucket(), correction.asOfEpochMillis());
    return mayMiss ? tokens : Math.min(tokens, changeTokens);
  }

  /**
   * Permitted excess: the aggregator may publish a correction before the records show that the
   * cache has lost charges. Then the correction mistakes the first later charges for the lost
   * charges, and returns tokens again (seeds 1014207 and 1040078). Also, if the first record of a
   * quota has no stamp, the aggregator assumes an unused quota until earlier records arrive (seed
   * 1059598).
   */
  private long givenTokens(Admissions bucket, Correction correction, long changeTokens) {
    if (changeTokens <= 0) {
      return 0;
    }
    if (!correction.limit().refills()) {
      long unknown =
          world.tokensBeforeFirstStamp(correction.bucket(), correction.asOfEpochMillis());
      return Math.min(changeTokens, unknown);
    }
    long given = Math.min(changeTokens, bucket.behindTokens);
    bucket.behindTokens -= given;
    return given;
  }

  /**
   * Permitted excess: if a node with a new policy decides a call without the cache, the records
   * contain the new limit before the cache does. Then the next correction gives the bucket the
   * refill above the old capacity (seed 10000144).
   */
  private static long givenByRaisedLimit(
      Admissions bucket, Correction correction, long changeTokens) {
    long raisedBy = correction.limit().capacityTokens() - bucket.limit.capacityTokens();
    return Math.max(0, Math.min(changeTokens, raisedBy));
  }

  /** Returns a bucket's level in tokens before and after a correction, for the trace. */
  private String levels(
      Correction correction, @Nullable BucketState before, @Nullable BucketState after) {
    BucketArithmetic arithmetic = correction.limit().arithmetic();
    double unitsPerToken = arithmetic.unitsPerToken();
    long nowMicros = world.redis().clock().epochMicros();
    double levelBefore =
        arithmetic.levelUnits(arithmetic.refill(before, nowMicros)) / unitsPerToken;
    return after == null
        ? levelBefore + " stays"
        : levelBefore
            + " to "
            + arithmetic.levelUnits(after) / unitsPerToken
            + " of "
            + correction.limit();
  }

  private static void checkOrder(
      Correction correction, @Nullable BucketState before, BucketState after) {
    if (before == null) {
      return;
    }
    boolean newer =
        after.correctedEpoch() > before.correctedEpoch()
            || (after.correctedEpoch() == before.correctedEpoch()
                && after.version() > before.version());
    if (!newer) {
      throw broken(correction, before, after, "is not newer");
    }
    if (after.epoch() == before.epoch() && after.chargedTokens() != before.chargedTokens()) {
      throw broken(correction, before, after, "has another counter");
    }
  }

  private static InvariantBroken broken(
      Correction correction, @Nullable BucketState before, BucketState after, String how) {
    return new InvariantBroken(
        Invariant.CORRECTIONS,
        correction + " changes " + before + " to a state that " + how + ": " + after);
  }
}
