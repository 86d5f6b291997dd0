// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.ingest.policy.log.PolicyEditor.RefusedException;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.limits.policy.PolicySet;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.kafka.KafkaRefusal;
import io.weir.topics.process.SupervisedThread;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.LongSupplier;
import org.apache.kafka.common.KafkaException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The policies that a node decides by: follows the log, and replaces the whole set at once when a
 * change takes effect. While Kafka is away the node keeps what it has; one that starts then decides
 * by the last version on its disk, or by its policy file alone. Thread-safe.
 */
public final class PolicyFollower implements AutoCloseable {
  /** How long a start waits for the log if there is something else to decide by. */
  private static final Duration START_PATIENCE = Duration.ofSeconds(3);

  /** How long a start waits for the log if there is nothing else. */
  private static final Duration LONG_START_PATIENCE = Duration.ofSeconds(15);

  private static final Duration READ_PATIENCE = Duration.ofSeconds(10);
  private static final Duration APPLY_PATIENCE = Duration.ofSeconds(10);
  private static final Duration POLL = Duration.ofMillis(500);
  private static final Duration STOP_PATIENCE = Duration.ofSeconds(5);
  private static final long PAUSE_MILLIS = 1_000;

  /** Between two tries to publish the node's file. */
  private static final long SETTLE_NANOS = TimeUnit.SECONDS.toNanos(30);

  /** Shortest time between two log lines about a lasting failure. */
  private static final long COMPLAINT_NANOS = TimeUnit.SECONDS.toNanos(30);

  private static final Logger LOG = LoggerFactory.getLogger(PolicyFollower.class);

  /** Where the policies in force come from. */
  public enum Source {
    /** The log, which is followed. */
    LOG,
    /** The last version on the node's disk; the log could not be read yet. */
    SNAPSHOT,
    /** The node's policy file; the log could not be read yet, and there is nothing on its disk. */
    FILE;

    /** Returns the word by which health tells the source. */
    public String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * The policies in force.
   *
   * @param state the version
   * @param set the policies of that version that are in force by now
   * @param matcher the same, compiled
   * @param untilMillis when others of that version come into force
   * @param source where it comes from
   */
  public record InForce(
      PolicyState state, PolicySet set, PolicyMatcher matcher, long untilMillis, Source source) {
    static InForce of(PolicyState state, long nowMillis, Source source) {
      PolicySet set = state.set(nowMillis);
      return new InForce(state, set, PolicyMatcher.of(set), state.nextMillis(nowMillis), source);
    }
  }

  /**
   * Whether the policies in force are the newest, for readiness answers.
   *
   * @param ok false if the log cannot be followed, or its newest version not be decided by
   * @param detail why; empty if ok
   */
  public record Health(boolean ok, String detail, long version, Source source) {}

  /** Signals that there is nothing to decide by. The message says why. */
  public static final class NoPoliciesException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    NoPoliciesException(String message) {
      super(message);
    }
  }

  private final KafkaConnection kafka;
  private final String node;
  private final String clientId;
  private final Path folder;
  private final @Nullable AppliedFile file;
  private final LongSupplier clock;
  private final PolicyEditor editor;
  private final SupervisedThread thread;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private @Nullable PolicySnapshot snapshot;
  private long nextSettleNanos = System.nanoTime();
  private volatile boolean maySettle;
  private volatile boolean isFileSettled;
  private long nextComplaintNanos = System.nanoTime();
  private volatile @Nullable InForce inForce;
  private volatile @Nullable String problem;
  private volatile @Nullable PolicyLogReader reader;
  private @Nullable String settleProblem;

  private PolicyFollower(
      KafkaConnection kafka,
      String node,
      Path folder,
      @Nullable AppliedFile file,
      LongSupplier clock) {
    this.kafka = kafka;
    this.node = node;
    this.clientId = "weir-policies-" + node;
    this.folder = folder;
    this.file = file;
    this.clock = clock;
    this.isFileSettled = file == null;
    this.editor = new PolicyEditor(kafka, clientId);
    this.thread = new SupervisedThread("weir-policies", new Following());
  }

  /**
   * Starts to follow the log, and returns when there are policies to decide by: the log was read to
   * its end, or Kafka does not answer and there is something else.
   *
   * @param folder where the node keeps its snapshot
   * @param file the node's policy file; null if it has none
   * @param clock the time by which policies come into force, in milliseconds since 1970
   * @throws NoPoliciesException if the log cannot be read and there is nothing else, or it was
   *     never written and there is no file
   */
  public static PolicyFollower start(
      KafkaConnection kafka,
      String node,
      Path folder,
      @Nullable AppliedFile file,
      LongSupplier clock,
      MeterRegistry registry) {
    PolicyFollower follower = new PolicyFollower(kafka, node, folder, file, clock);
    PolicySnapshot snapshot = PolicySnapshot.read(folder);
    follower.snapshot = snapshot;
    boolean hasSnapshot = snapshot != null && snapshot.state().version() > 0;
    boolean hasOther = hasSnapshot || file != null;
    follower.thread.start();
    boolean isRead = follower.awaitFirst(hasOther ? START_PATIENCE : LONG_START_PATIENCE, hasOther);
    if (!isRead) {
      InForce stopgap = null;
      if (snapshot != null && hasSnapshot) {
        stopgap = InForce.of(snapshot.state(), clock.getAsLong(), Source.SNAPSHOT);
      } else if (file != null) {
        stopgap = follower.ofFile(file);
      }
      if (stopgap == null) {
        String why = follower.problem;
        follower.close();
        throw new NoPoliciesException(
            "there is no policy file (WEIR_POLICIES), and "
                + (why == null ? "Kafka has not told which policies were published" : why));
      }
      follower.useUnlessRead(stopgap);
    }
    Gauge.builder("weir.policies.version", follower, it -> it.inForce().state().version())
        .description("policies in force, by their version")
        .register(registry);
    Gauge.builder("weir.policies.behind", follower, it -> it.problem() == null ? 0 : 1)
        .description(
            "1 when the node cannot follow the log of policies, or decide by its newest version")
        .register(registry);
    return follower;
  }

  /**
   * Publishes the node's file if nothing is published at all, and waits until it is in force. Where
   * something is published, that stays: the log names a difference. To be called when the node's
   * start cannot fail any more. If Kafka does not respond, the follower retries until it does.
   *
   * @param patience longest time to wait
   */
  public void settleFile(Duration patience) {
    maySettle = true;
    PolicyLogReader current = reader;
    if (isFileSettled || current == null) {
      return;
    }
    long left = patience.toNanos();
    lock.lock();
    try {
      while (!isFileSettled && problem == null && left > 0) {
        left = changed.awaitNanos(left);
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    } finally {
      lock.unlock();
    }
  }

  private @Nullable InForce ofFile(AppliedFile given) {
    try {
      return InForce.of(PolicyState.ofFile(given), clock.getAsLong(), Source.FILE);
    } catch (PolicyState.InvalidPoliciesException invalid) {
      problem = invalid.getMessage();
      return null;
    }
  }

  /**
   * Waits for the first version, as long as it is being read.
   *
   * @param patience longest time in which nothing is read
   * @param untilFailure whether a failure ends the wait, too
   */
  private boolean awaitFirst(Duration patience, boolean untilFailure) {
    long left = patience.toNanos();
    long progress = 0;
    lock.lock();
    try {
      while (inForce == null && left > 0 && !(untilFailure && problem != null)) {
        long step = Math.min(left, TimeUnit.MILLISECONDS.toNanos(100));
        left -= step - Math.max(0, changed.awaitNanos(step));
        PolicyLogReader current = reader;
        if (current != null && current.progress() != progress) {
          progress = current.progress();
          left = patience.toNanos();
        }
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    } finally {
      lock.unlock();
    }
    return inForce != null;
  }

  private void useUnlessRead(InForce stopgap) {
    lock.lock();
    try {
      if (inForce == null) {
        inForce = stopgap;
        problem = problem == null ? "Kafka has not answered yet" : problem;
        LOG.warn(
            "policies_not_read version={} source={} detail=\"{}\"",
            stopgap.state().version(),
            stopgap.source().word(),
            problem);
      }
    } finally {
      lock.unlock();
    }
  }

  /** Returns the policies in force. */
  public InForce inForce() {
    InForce present = inForce;
    if (present == null) {
      throw new IllegalStateException("the policies were not read");
    }
    return present;
  }

  /** Returns the policies in force, compiled. */
  public PolicyMatcher matcher() {
    return inForce().matcher();
  }

  /** Returns the set in force. */
  public PolicySet set() {
    return inForce().set();
  }

  /** Returns why the newest version may not be in force; null if it is. */
  public @Nullable String problem() {
    return problem;
  }

  /** Returns whether the policies in force are the newest. */
  public Health health() {
    InForce present = inForce();
    String reason = problem;
    return new Health(
        reason == null, reason == null ? "" : reason, present.state().version(), present.source());
  }

  /** Returns the editor by which this node changes policies. */
  public PolicyEditor editor() {
    return editor;
  }

  /**
   * Waits until a version, or a later one, is in force.
   *
   * @return false if it is not within this time
   */
  public boolean awaitVersion(long version, Duration patience) {
    long left = patience.toNanos();
    lock.lock();
    try {
      while (inForce().state().version() < version && left > 0) {
        left = changed.awaitNanos(left);
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    } finally {
      lock.unlock();
    }
    return inForce().state().version() >= version;
  }

  /** Follows the log with one reader after another. */
  private final class Following implements SupervisedThread.Work {
    @Override
    public void run() {
      follow();
    }

    @Override
    public long failed(Throwable failure) {
      followTime();
      boolean isExpected =
          failure instanceof KafkaException
              || failure instanceof PolicyLogReader.NoSuchLogException
              || failure instanceof PolicyLogReader.LogBeganAnewException
              || failure instanceof PolicyLogReader.LogNotWholeException;
      if (!(failure instanceof PolicyLogReader.LogBeganAnewException)) {
        tell(isExpected ? String.valueOf(failure.getMessage()) : failure.toString());
      }
      long now = System.nanoTime();
      if (!isExpected) {
        LOG.error("policies not followed, tried again", failure);
      } else if (now - nextComplaintNanos >= 0) {
        nextComplaintNanos = now + COMPLAINT_NANOS;
        LOG.warn(
            "policies_not_followed detail=\"{}\"",
            KafkaRefusal.explain(failure, "Read", failure.getMessage()));
      }
      return PAUSE_MILLIS;
    }

    /** The reader is woken up only in order to stop. */
    @Override
    public void wakeUp(Thread worker) {
      PolicyLogReader current = reader;
      if (current != null) {
        current.wakeUp();
      }
    }
  }

  private void follow() {
    try (PolicyLogReader opened = PolicyLogReader.open(kafka, clientId)) {
      reader = opened;
      opened.readToEnd(READ_PATIENCE);
      use(opened);
      while (!thread.isClosing()) {
        boolean isPublished = opened.state().version() > 0;
        boolean maySettleNow = isPublished || System.nanoTime() - nextSettleNanos >= 0;
        if (maySettle && !isFileSettled && maySettleNow) {
          settle(opened.state(), opened.refusal());
        }
        opened.follow(longestPoll());
        use(opened);
        followTime();
      }
    } finally {
      reader = null;
    }
  }

  private Duration longestPoll() {
    InForce present = inForce;
    long left = present == null ? POLL.toMillis() : present.untilMillis() - clock.getAsLong();
    return Duration.ofMillis(Math.max(1, Math.min(POLL.toMillis(), left)));
  }

  /** Lets policies come into force whose time has come. */
  private void followTime() {
    InForce present = inForce;
    long now = clock.getAsLong();
    if (present != null && present.untilMillis() <= now) {
      replace(InForce.of(present.state(), now, present.source()), present);
    }
  }

  /**
   * Publishes the node's file if nothing is published; where the log has lost what this node knows,
   * publishes that instead. Does nothing while the log has entries that the node cannot decide by.
   */
  private void settle(PolicyState state, @Nullable String refusal) {
    AppliedFile given = file;
    if (given == null || refusal != null) {
      return;
    }
    if (state.version() > 0) {
      warnOfDifference(given, state);
      settleProblem = null;
      setSettled();
      return;
    }
    PolicySnapshot known = snapshot;
    boolean isLost = known != null && known.state().version() > 0;
    nextSettleNanos = System.nanoTime() + TimeUnit.SECONDS.toNanos(1);
    try {
      PolicyEditor.Outcome outcome =
          editor.change(
              "node " + node + " at its start: " + (isLost ? "what was lost" : given.name()),
              APPLY_PATIENCE,
              isLost && known != null
                  ? PolicyEdits.restore(known.state())
                  : PolicyEdits.publishFirst(given));
      LOG.info(
          "policies_published file={} version={} changed={}",
          isLost ? "-" : given.name(),
          outcome.after().version(),
          outcome.isChange());
    } catch (RefusedException refused) {
      LOG.error(
          "policy_file_not_published file={} detail=\"{}\"", given.name(), refused.getMessage());
      // meanwhile the log is followed
      nextSettleNanos = System.nanoTime() + SETTLE_NANOS;
      settleProblem = "the policy file is not published: " + refused.getMessage();
      tell(settleProblem);
    }
  }

  /** Logs that the published policies are not those of the node's file. A start changes nothing. */
  private static void warnOfDifference(AppliedFile given, PolicyState state) {
    int differences = PolicyEdits.drafts(state, given.tree()).size();
    if (differences > 0) {
      LOG.warn(
          "policy_file_differs file={} version={} differences={} detail=\"the published policies"
              + " stay in force; 'weir policies diff FILE' shows the differences, 'weir policies"
              + " apply FILE' publishes the file\"",
          given.name(),
          state.version(),
          differences);
    }
  }

  private void setSettled() {
    lock.lock();
    try {
      isFileSettled = true;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  private void use(PolicyLogReader opened) {
    PolicyState next = opened.state();
    InForce present = inForce;
    if (next.version() == 0) {
      tell(reasonWithoutLog(opened, present));
      AppliedFile given = file;
      PolicySnapshot known = snapshot;
      boolean hasSnapshot = known != null && known.state().version() > 0;
      if (present == null && given != null && opened.refusal() == null && !hasSnapshot) {
        // the file decides until it is published
        InForce ofFile = ofFile(given);
        if (ofFile != null) {
          replace(ofFile, null);
        }
      }
      return;
    }
    if (present == null || present.state() != next || present.source() != Source.LOG) {
      replace(InForce.of(next, clock.getAsLong(), Source.LOG), present);
    }
    tell(opened.refusal() == null ? settleProblem : opened.refusal());
  }

  private @Nullable String reasonWithoutLog(PolicyLogReader opened, @Nullable InForce present) {
    if (opened.refusal() != null) {
      return opened.refusal();
    }
    if (present != null && present.state().version() > 0) {
      return "nothing is published any more; version " + present.state().version() + " stays";
    }
    PolicySnapshot known = snapshot;
    if (known != null && known.state().version() > 0) {
      return "nothing is published any more";
    }
    return file == null ? "no policies were published: weir policies apply FILE" : settleProblem;
  }

  private void replace(InForce next, @Nullable InForce before) {
    lock.lock();
    try {
      inForce = next;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
    LOG.info(
        "policies_in_force version={} before={} policies={} clients={} enforcement={}",
        next.state().version(),
        before == null ? "-" : before.state().version(),
        next.set().policies().size(),
        next.set().clients().settings().size(),
        next.state().enforcement().name().toLowerCase(Locale.ROOT));
    if (next.state().version() > 0) {
      writeSnapshot(next.state());
    }
  }

  private void writeSnapshot(PolicyState state) {
    PolicySnapshot next = new PolicySnapshot(state);
    snapshot = next;
    try {
      next.write(folder);
    } catch (IOException failed) {
      LOG.error("policies_snapshot_not_written folder={}", folder, failed);
    }
  }

  /** Notes why the newest version may not be in force, and wakes a start that waits. */
  private void tell(@Nullable String reason) {
    lock.lock();
    try {
      problem = reason;
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Stops following. The policies stay in force. */
  @Override
  public void close() {
    thread.close(STOP_PATIENCE);
  }
}
