// SPDX-License-Identifier: Apache-2.0
package io.weir.sim;

import io.weir.aggregator.count.PartitionCounter.Stores;
import io.weir.aggregator.count.SeenIds;
import io.weir.aggregator.count.SourceRecord;
import io.weir.ingest.gate.Ticket;
import io.weir.ingest.record.journal.Journal;
import io.weir.limits.BucketState;
import io.weir.limits.KeptBuckets;
import io.weir.limits.LogState;
import io.weir.limits.SlotState;
import io.weir.limits.check.BucketReply;
import io.weir.limits.check.BucketRequest;
import io.weir.limits.check.Check;
import io.weir.limits.check.CheckDecider;
import io.weir.limits.check.Decision;
import io.weir.limits.correction.BoundedCorrection;
import io.weir.limits.correction.Correction;
import io.weir.limits.correction.CorrectionRule;
import io.weir.limits.policy.LeaseTerms;
import io.weir.topics.model.BatchHeader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Planted bugs, each at one boundary of the simulated world. The product's code contains none of
 * these bugs. The number of bugs found measures the quality of the simulation.
 */
enum Mutant implements Edges {
  /** The unchanged code. */
  NONE("no bug"),

  SKIP_BATCH_DEDUPE("the counter forgets the lines of a journal, so a batch is counted again") {
    @Override
    public Stores stores(Stores real, TransactionalStore ids) {
      return new Stores(
          real.open(),
          real.closed(),
          new ForgetfulStore(real.progress(), key -> key[0] == 'n'),
          real.buckets(),
          real.ids());
    }
  },

  FORGET_CALLER_IDS("the counter treats each id of a caller as new") {
    @Override
    public Stores stores(Stores real, TransactionalStore ids) {
      return withIds(real, key -> !isSettled(key));
    }
  },

  SETTLE_TWICE("a second settlement of a call also counts") {
    @Override
    public Stores stores(Stores real, TransactionalStore ids) {
      return withIds(real, Mutant::isSettled);
    }
  },

  COUNT_BEFORE_DEDUPE("an id is looked up before the previous id is stored") {
    @Override
    public Stores stores(Stores real, TransactionalStore ids) {
      return withIds(real, ids::isUncommitted);
    }
  },

  CLOSE_BY_WALL_CLOCK("windows close by the broker's clock instead of low watermarks") {
    @Override
    public SourceRecord taken(SourceRecord record) {
      byte[] now = Long.toString(record.appendEpochMillis()).getBytes(StandardCharsets.US_ASCII);
      return new SourceRecord(
          record.offset(),
          record.appendEpochMillis(),
          record.value(),
          name -> name.equals("low_watermark_ms") ? now : record.headers().apply(name));
    }
  },

  PROMISE_EARLY("the low watermark ignores calls that Kafka does not have") {
    @Override
    public BatchHeader sent(BatchHeader header, long brokerEpochMillis) {
      return new BatchHeader(
          header.node(),
          header.nodeEpoch(),
          header.batchSequence(),
          header.count(),
          header.lowWatermarkEpochMillis() + 5_000,
          header.linesBefore(),
          header.linesBeforeEpoch(),
          header.departing());
    }
  },

  CLOSE_BEFORE_ROWS("a CLOSE is written before the rows that it covers") {
    @Override
    public List<CounterOutput.Output> committed(List<CounterOutput.Output> outputs) {
      List<CounterOutput.Output> reordered = new ArrayList<>();
      for (CounterOutput.Output output : outputs) {
        boolean isClose =
            output.target() == CounterOutput.Target.LEDGER
                && new String(output.value(), StandardCharsets.UTF_8).contains("\"CLOSE\"");
        reordered.add(isClose ? 0 : reordered.size(), output);
      }
      return reordered;
    }
  },

  FORGET_CLOSED_ROWS("a closed row is forgotten, so an adjustment starts a new row") {
    @Override
    public Stores stores(Stores real, TransactionalStore ids) {
      return new Stores(
          real.open(),
          new ForgetfulStore(real.closed(), key -> true),
          real.progress(),
          real.buckets(),
          real.ids());
    }
  },

  FORGET_ENDPOINTS("a restart resets the number of endpoints of each window") {
    @Override
    public Stores stores(Stores real, TransactionalStore ids) {
      return new Stores(
          new UncountedStore(real.open()),
          new UncountedStore(real.closed()),
          real.progress(),
          real.buckets(),
          real.ids());
    }
  },

  OFFSET_WITHOUT_STORES("the offset is committed without the stores and outputs") {
    @Override
    public boolean commitsOffsetAlone() {
      return true;
    }
  },

  READ_UNCOMMITTED("readers receive the records of an aborted transaction") {
    @Override
    public boolean readsAborted() {
      return true;
    }
  },

  KEEP_EPOCH("a journal continues the epoch of the previous opening") {
    @Override
    public Journal journal(Journal disk) {
      return SpoiledJournal.ofOneEpoch(disk);
    }
  },

  LOSE_JOURNAL_TAIL("the last lines of the journal are not written to the disk") {
    @Override
    public Journal journal(Journal disk) {
      return SpoiledJournal.withoutTail(disk);
    }
  },

  CORRECT_WITH_OLDER("a correction with a smaller version is applied") {
    @Override
    public CorrectionRule.Result correct(
        BoundedCorrection correction, @Nullable BucketState kept, long nowEpochMicros) {
      BucketState believed = kept == null ? null : with(kept, 0, kept.chargedTokens());
      return CorrectionRule.apply(correction, believed, nowEpochMicros);
    }
  },

  CORRECTION_FORGETS_CHARGES("a correction ignores charges after its computation") {
    @Override
    public CorrectionRule.Result correct(
        BoundedCorrection correction, @Nullable BucketState kept, long nowEpochMicros) {
      long known = correction.correction().chargedTokens();
      if (kept == null || kept.chargedTokens() <= known) {
        return CorrectionRule.apply(correction, kept, nowEpochMicros);
      }
      CorrectionRule.Result result =
          CorrectionRule.apply(correction, with(kept, kept.version(), known), nowEpochMicros);
      BucketState state = result.state();
      return state == null
          ? result
          : new CorrectionRule.Result(
              result.outcome(),
              with(state, state.version(), kept.chargedTokens()),
              result.ttlMillis());
    }
  },

  CORRECTION_RAISES_COUNTER("a correction sets the bucket's counter") {
    @Override
    public CorrectionRule.Result correct(
        BoundedCorrection correction, @Nullable BucketState kept, long nowEpochMicros) {
      CorrectionRule.Result result = CorrectionRule.apply(correction, kept, nowEpochMicros);
      BucketState state = result.state();
      return state == null
          ? result
          : new CorrectionRule.Result(
              result.outcome(),
              with(
                  state,
                  state.version(),
                  Math.max(state.chargedTokens(), correction.correction().chargedTokens() + 1)),
              result.ttlMillis());
    }
  },

  CORRECTIONS_UNAPPLIED("a correction that takes tokens changes only the version") {
    @Override
    public CorrectionRule.Result correct(
        BoundedCorrection correction, @Nullable BucketState kept, long nowEpochMicros) {
      CorrectionRule.Result result = CorrectionRule.apply(correction, kept, nowEpochMicros);
      BucketState state = result.state();
      return state == null || kept == null || result.outcome().changeTokens() >= 0
          ? result
          : noted(result, state, kept);
    }
  },

  GAPS_KEPT_BACK("a token bucket gets no tokens of unrecorded charges back") {
    @Override
    public CorrectionRule.Result correct(
        BoundedCorrection correction, @Nullable BucketState kept, long nowEpochMicros) {
      CorrectionRule.Result result = CorrectionRule.apply(correction, kept, nowEpochMicros);
      BucketState state = result.state();
      boolean isGap =
          correction.correction().cause() == Correction.Cause.GAP
              && correction.correction().limit().refills();
      return state == null || kept == null || !isGap || result.outcome().changeTokens() <= 0
          ? result
          : noted(result, state, kept);
    }
  },

  CREDIT_TWICE("a correction gives its tokens twice") {
    @Override
    public CorrectionRule.Result correct(
        BoundedCorrection correction, @Nullable BucketState kept, long nowEpochMicros) {
      CorrectionRule.Result result = CorrectionRule.apply(correction, kept, nowEpochMicros);
      BucketState state = result.state();
      long given = result.outcome().changeTokens();
      if (state == null || given <= 0) {
        return result;
      }
      long unitsMore = given * Math.max(1, state.unitsPerToken());
      return new CorrectionRule.Result(
          result.outcome(),
          new BucketState(
              state.units() + unitsMore,
              state.unitsPerToken(),
              state.lastEpochMicros(),
              state.epoch(),
              state.correctedEpoch(),
              state.version(),
              state.chargedTokens()),
          result.ttlMillis());
    }
  },

  CHANGED_LIMIT_FILLS("a bucket with a changed limit begins full") {
    @Override
    public KeptBuckets found(Check check, long nowEpochMicros, KeptBuckets kept) {
      return new FalsifiedBuckets(kept) {
        @Override
        public @Nullable BucketState state(String bucket) {
          BucketState state = kept.state(bucket);
          return state == null
              ? null
              : check.buckets().stream()
                  .filter(request -> request.bucket().equals(bucket))
                  .map(request -> request.limit().arithmetic())
                  .filter(now -> state.unitsPerToken() != 0)
                  .filter(now -> now.unitsPerToken() != state.unitsPerToken())
                  .map(now -> now.atLevel(state, now.capacityUnits(), nowEpochMicros))
                  .findFirst()
                  .orElse(state);
        }
      };
    }
  },

  FORGET_SUB_WINDOWS("a sliding window does not count its earlier sub-windows") {
    @Override
    public KeptBuckets found(Check check, long nowEpochMicros, KeptBuckets kept) {
      Set<String> asked =
          check.buckets().stream().map(BucketRequest::bucket).collect(Collectors.toSet());
      return new FalsifiedBuckets(kept) {
        @Override
        public @Nullable BucketState state(String bucket) {
          return asked.contains(bucket) ? kept.state(bucket) : null;
        }
      };
    }
  },

  FORGET_OLDEST_CALL("a sliding log does not count its oldest call") {
    @Override
    public KeptBuckets found(Check check, long nowEpochMicros, KeptBuckets kept) {
      return new FalsifiedBuckets(kept) {
        @Override
        public @Nullable LogState log(String bucket) {
          LogState whole = kept.log(bucket);
          LogState later = LogState.EMPTY;
          for (int i = 1; whole != null && i < whole.size(); i++) {
            later = later.with(0, whole.atMicros(i), whole.cost(i));
          }
          return later;
        }
      };
    }
  },

  SLOTS_END_EARLY("a slot is given to another caller a quarter of a second too early") {
    @Override
    public KeptBuckets found(Check check, long nowEpochMicros, KeptBuckets kept) {
      return new FalsifiedBuckets(kept) {
        @Override
        public @Nullable SlotState slots(String bucket) {
          SlotState whole = kept.slots(bucket);
          SlotState lasting = SlotState.EMPTY;
          if (whole != null) {
            for (Map.Entry<String, Long> slot : whole.byHolder().entrySet()) {
              if (slot.getValue() > nowEpochMicros + 250_000) {
                lasting = lasting.with(slot.getKey(), slot.getValue());
              }
            }
          }
          return lasting;
        }
      };
    }
  },

  SLOTS_UNRELEASED("a released slot stays taken until its lease ends") {
    @Override
    public CheckDecider.Outcome release(Check check, long nowEpochMicros, KeptBuckets kept) {
      return new CheckDecider.Outcome(
          CheckDecider.release(check, nowEpochMicros, kept).decision(),
          List.of(),
          List.of(),
          List.of());
    }
  },

  DENY_CHARGES("a denied call is charged to buckets with enough tokens") {
    @Override
    public CheckDecider.Outcome decide(
        Check check, boolean peek, boolean warm, long nowEpochMicros, KeptBuckets kept) {
      CheckDecider.Outcome real = CheckDecider.decide(check, peek, warm, nowEpochMicros, kept);
      if (!(real.decision() instanceof Decision.Denied)) {
        return real;
      }
      Check least = new Check(check.buckets(), 1, check.claim());
      List<CheckDecider.Write> writes =
          CheckDecider.decide(least, peek, warm, nowEpochMicros, kept).writes();
      return new CheckDecider.Outcome(real.decision(), writes, List.of());
    }
  },

  STEP_FORGOTTEN("a denial does not replace a stored time that is far ahead of Redis' clock") {
    @Override
    public CheckDecider.Outcome decide(
        Check check, boolean peek, boolean warm, long nowEpochMicros, KeptBuckets kept) {
      CheckDecider.Outcome real = CheckDecider.decide(check, peek, warm, nowEpochMicros, kept);
      return new CheckDecider.Outcome(real.decision(), real.writes(), real.logs(), real.slots());
    }
  },

  LEASE_OUTLIVED("a node uses leased tokens for three times the duration") {
    @Override
    public long leaseMicros(long micros) {
      return Math.min(3 * micros, LeaseTerms.MAX_MICROS);
    }
  },

  LEASE_UNHELD("the low watermark passes leases whose calls are not recorded yet") {
    @Override
    public Ticket leaseTicket(Ticket ticket, Supplier<Ticket> other) {
      long begunAtEpochMillis = ticket.begunAtEpochMillis();
      ticket.abandon();
      return new Ticket() {
        @Override
        public Ticket again() {
          return other.get();
        }

        @Override
        public long begunAtEpochMillis() {
          return begunAtEpochMillis;
        }

        @Override
        public void abandon() {
          // the ticket does not hold the watermark back
        }
      };
    }
  },

  DENIAL_KEPT("a denial is repeated after a correction has given tokens") {
    @Override
    public boolean hearsRaises() {
      return false;
    }
  },

  DENIAL_NOTED_LATE("a denial is stored after messages that the cache sent later") {
    @Override
    public void noteDenial(Consumer<Runnable> later, Runnable note) {
      later.accept(note);
    }
  },

  DENIAL_OUTLIVED("a denial is repeated for twice the correct time") {
    @Override
    public Decision.Denied denied(Decision.Denied denied) {
      List<BucketReply> replies = new ArrayList<>();
      for (BucketReply reply : denied.buckets()) {
        replies.add(
            new BucketReply(
                reply.sufficient(),
                reply.remainingTokens(),
                reply.resetMicros(),
                2 * reply.retryAfterMicros(),
                reply.epoch(),
                reply.version(),
                reply.chargedTokens(),
                reply.charged()));
      }
      return new Decision.Denied(
          denied.decidedAtEpochMicros(),
          replies,
          denied.decidingBucket(),
          denied.costExceedsCapacity());
    }
  },

  WARM_AT_ONCE("a cache that lost its state counts as restored at once") {
    @Override
    public boolean isWarmAtOnce() {
      return true;
    }
  };

  private final String bug;

  Mutant(String bug) {
    this.bug = bug;
  }

  /** Returns a description of the bug. */
  String bug() {
    return bug;
  }

  /**
   * Returns whether a key belongs to a settled call. Such a key begins with the kind 5, in zigzag
   * encoding.
   */
  private static boolean isSettled(byte[] idKey) {
    return idKey[0] == 5 << 1;
  }

  private static Stores withIds(Stores real, Predicate<byte[]> forgotten) {
    return new Stores(
        real.open(),
        real.closed(),
        real.progress(),
        real.buckets(),
        new ForgetfulIds(real.ids(), forgotten));
  }

  /** A store of ids that never finds some ids. */
  private record ForgetfulIds(SeenIds real, Predicate<byte[]> forgotten) implements SeenIds {
    @Override
    public @Nullable String find(byte[] key, long appendEpochMillis) {
      return forgotten.test(key) ? null : real.find(key, appendEpochMillis);
    }

    @Override
    public void remember(byte[] key, String text, long appendEpochMillis) {
      real.remember(key, text, appendEpochMillis);
    }
  }

  /** Returns the result of a correction, but with unchanged tokens of the bucket. */
  private static CorrectionRule.Result noted(
      CorrectionRule.Result result, BucketState state, BucketState kept) {
    return new CorrectionRule.Result(
        result.outcome(),
        new BucketState(
            kept.units(),
            kept.unitsPerToken(),
            kept.lastEpochMicros(),
            state.epoch(),
            state.correctedEpoch(),
            state.version(),
            state.chargedTokens()),
        result.ttlMillis());
  }

  private static BucketState with(BucketState state, long version, long chargedTokens) {
    return new BucketState(
        state.units(),
        state.unitsPerToken(),
        state.lastEpochMicros(),
        state.epoch(),
        state.correctedEpoch(),
        version,
        chargedTokens);
  }
}
