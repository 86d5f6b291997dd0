// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.limits.policy.PolicySet;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.kafka.KafkaRefusal;
import io.weir.topics.process.LogPace;
import io.weir.topics.process.SupervisedThread;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.apache.kafka.common.KafkaException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Provides the policies that a node enforces. The follower reads the policy log, and replaces the
 * whole set atomically when a change takes effect. While Kafka is unavailable, the node keeps its
 * policies. A node that starts without Kafka uses the last version on its disk. If the disk has no
 * version, the node uses its policy file. Thread-safe.
 */
public final class PolicyFollower implements AutoCloseable {
  /** Maximum wait for the next record at a start, if the node has a snapshot or a file. */
  private static final Duration START_TIMEOUT = Duration.ofSeconds(3);

  /**
   * Maximum wait for the next record at the start of a node that has neither a snapshot nor a file.
   */
  private static final Duration LONG_START_TIMEOUT = Duration.ofSeconds(15);

  private static final Duration READ_TIMEOUT = Duration.ofSeconds(10);
  private static final Duration POLL = Duration.ofMillis(500);
  private static final Duration STOP_TIMEOUT = Duration.ofSeconds(5);
  private static final long PAUSE_MILLIS = 1_000;

  /** Interval at which a starting node checks whether records arrive while it waits for the log. */
  private static final Duration STEP = Duration.ofMillis(100);

  /** Minimum time between two log lines about a lasting failure. */
  private static final long LOG_NANOS = TimeUnit.SECONDS.toNanos(30);

  private static final Logger LOG = LoggerFactory.getLogger(PolicyFollower.class);

  /** The source of the policies in force. */
  public enum Source {
    /** The policy log. */
    LOG,
    /** The last version on the node's disk, while the log cannot be read. */
    SNAPSHOT,
    /** The node's policy file, while the log cannot be read and the disk has no version. */
    FILE;

    /** Returns the name of the source in health responses. */
    public String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /**
   * The policies in force.
   *
   * @param state the current version
   * @param set the policies of {@code state} that are currently in force
   * @param matcher the compiled form of {@code set}
   * @param untilMillis next time at which {@code set} changes without a new version, in
   *     milliseconds since the epoch
   * @param source the source of the version
   */
  public record InForce(
      PolicyLogState state, PolicySet set, PolicyMatcher matcher, long untilMillis, Source source) {
    static InForce of(PolicyLogState state, long nowMillis, Source source) {
      PolicySet set = state.set(nowMillis);
      return new InForce(state, set, PolicyMatcher.of(set), state.nextMillis(nowMillis), source);
    }
  }

  /**
   * Reports whether the newest published policies are in force. Used in health responses.
   *
   * @param ok false if the log cannot be followed, or its newest version is invalid
   * @param detail the reason; empty if {@code ok}
   */
  public record Health(boolean ok, String detail, long version, Source source) {}

  /** Thrown when a node has no policies to enforce. The message states the reason. */
  public static final class NoPoliciesException extends RuntimeException {
    private static final long serialVersionUID = 1L;

    NoPoliciesException(String message) {
      super(message);
    }
  }

  private final KafkaConnection kafka;
  private final String clientId;
  private final PolicySnapshot snapshot;
  private final @Nullable AppliedFile file;
  private final LongSupplier clock;
  private final PolicyEditor editor;
  private final @Nullable FilePublisher publisher;
  private final SupervisedThread thread;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private volatile boolean maySettle;
  private volatile boolean isFileSettled;
  private @Nullable String fileProblem;
  private final LogPace logPace = new LogPace(System::nanoTime, LOG_NANOS);
  private volatile @Nullable InForce inForce;
  private volatile @Nullable String problem;
  private volatile @Nullable PolicyLogReader reader;

  private PolicyFollower(
      KafkaConnection kafka,
      String node,
      Path folder,
      @Nullable AppliedFile file,
      LongSupplier clock) {
    this.kafka = kafka;
    this.clientId = "weir-policies-" + node;
    this.snapshot = new PolicySnapshot(folder);
    this.file = file;
    this.clock = clock;
    this.isFileSettled = file == null;
    this.editor = new PolicyEditor(kafka, clientId);
    this.publisher = file == null ? null : new FilePublisher(file, node, editor);
    this.thread = new SupervisedThread("weir-policies", new Following());
  }

  /**
   * Starts to follow the log. Returns when the log was read to its end, or when Kafka does not
   * reply and the node has another source of policies.
   *
   * @param folder the folder of the node's snapshot
   * @param file the node's policy file; null if the node has none
   * @param clock returns the time that determines which policies are in force, in milliseconds
   *     since the epoch
   * @throws NoPoliciesException if the log cannot be read and there is no other source, or if the
   *     log is empty and there is no file
   */
  public static PolicyFollower start(
      KafkaConnection kafka,
      String node,
      Path folder,
      @Nullable AppliedFile file,
      LongSupplier clock,
      MeterRegistry registry) {
    PolicyFollower follower = new PolicyFollower(kafka, node, folder, file, clock);
    follower.thread.start();
    boolean hasOther = file != null || follower.snapshot.exists();
    boolean isRead = follower.awaitFirst(hasOther ? START_TIMEOUT : LONG_START_TIMEOUT, hasOther);
    if (!isRead && hasOther && file == null && follower.snapshot.state() == null) {
      // treat a damaged snapshot like a missing snapshot
      isRead = follower.awaitFirst(LONG_START_TIMEOUT, false);
    }
    if (!isRead) {
      follower.useStopgap();
    }
    Gauge.builder("weir.policies.version", follower, it -> it.inForce().state().version())
        .description("policies in force: their version")
        .register(registry);
    Gauge.builder("weir.policies.behind", follower, it -> it.problem() == null ? 0 : 1)
        .description(
            "1 when the node cannot follow the log of policies, or its newest version is invalid")
        .register(registry);
    return follower;
  }

  /**
   * Publishes the node's file if the log is empty, and waits until the file is in force. If
   * policies are already published, they stay in force, and a log event reports how the file
   * differs. Call this method only when the node's start can no longer fail. While Kafka does not
   * reply, the follower retries.
   *
   * @param timeout maximum time to wait
   */
  public void settleFile(Duration timeout) {
    maySettle = true;
    if (reader != null) {
      await(timeout, () -> isFileSettled || problem != null);
    }
  }

  private @Nullable InForce ofFile() {
    if (file == null) {
      return null;
    }
    try {
      return InForce.of(PolicyLogState.ofFile(file), clock.getAsLong(), Source.FILE);
    } catch (PolicyLogState.InvalidPoliciesException invalid) {
      problem = invalid.getMessage();
      return null;
    }
  }

  /**
   * Waits for the first version while records arrive.
   *
   * @param timeout maximum time without a new record
   * @param untilFailure whether a failure also ends the wait
   */
  private boolean awaitFirst(Duration timeout, boolean untilFailure) {
    BooleanSupplier isDone = () -> inForce != null || (untilFailure && problem != null);
    long progress = 0;
    long beganNanos = System.nanoTime();
    while (!isDone.getAsBoolean()
        && System.nanoTime() - beganNanos < timeout.toNanos()
        && !Thread.currentThread().isInterrupted()) {
      await(STEP, isDone);
      PolicyLogReader current = reader;
      if (current != null && current.progress() != progress) {
        progress = current.progress();
        beganNanos = System.nanoTime();
      }
    }
    return inForce != null;
  }

  /** Waits until a condition is true, or the thread is interrupted. */
  private void await(Duration timeout, BooleanSupplier isDone) {
    long left = timeout.toNanos();
    lock.lock();
    try {
      while (!isDone.getAsBoolean() && left > 0) {
        left = changed.awaitNanos(left);
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    } finally {
      lock.unlock();
    }
  }

  /** Runs a change of this object's state, and wakes the threads that wait for a change. */
  private void signal(Runnable change) {
    lock.lock();
    try {
      change.run();
      changed.signalAll();
    } finally {
      lock.unlock();
    }
  }

  /** Puts the snapshot or the file into force if the node has not read the log yet. */
  private void useStopgap() {
    PolicyLogState stored = snapshot.state();
    InForce stopgap =
        stored == null ? ofFile() : InForce.of(stored, clock.getAsLong(), Source.SNAPSHOT);
    if (stopgap == null) {
      String why = problem;
      close();
      throw new NoPoliciesException(
          "there is no policy file (WEIR_POLICIES), and "
              + (why == null ? "the published policies could not be read from Kafka" : why));
    }
    signal(
        () -> {
          if (inForce == null) {
            inForce = stopgap;
            problem = problem == null ? "Kafka has not replied yet" : problem;
            LOG.warn(
                "policies_not_read version={} source={} detail=\"{}\"",
                stopgap.state().version(),
                stopgap.source().word(),
                problem);
          }
        });
  }

  /** Returns the policies in force. */
  public InForce inForce() {
    InForce present = inForce;
    if (present == null) {
      throw new IllegalStateException("no policies were read yet");
    }
    return present;
  }

  /** Returns the policy set in force. */
  public PolicySet set() {
    return inForce().set();
  }

  /** Returns the reason why the newest version may not be in force; null if it is in force. */
  public @Nullable String problem() {
    return problem;
  }

  /** Returns whether the newest published policies are in force. */
  public Health health() {
    InForce present = inForce();
    String reason = problem;
    return new Health(
        reason == null, reason == null ? "" : reason, present.state().version(), present.source());
  }

  /** Returns the editor with which this node changes policies. */
  public PolicyEditor editor() {
    return editor;
  }

  /**
   * Waits until the given version, or a later version, is in force.
   *
   * @return false if the timeout passed before the version was in force
   */
  public boolean awaitVersion(long version, Duration timeout) {
    await(timeout, () -> inForce().state().version() >= version);
    return inForce().state().version() >= version;
  }

  /** Follows the log, with a new reader after each failure. */
  private final class Following implements SupervisedThread.Work {
    @Override
    public void run() {
      try (PolicyLogReader opened = PolicyLogReader.open(kafka, clientId)) {
        reader = opened;
        opened.readToEnd(READ_TIMEOUT);
        use(opened);
        while (!thread.isClosing()) {
          if (publisher != null && maySettle && !isFileSettled && opened.refusal() == null) {
            boolean isSettled = publisher.settle(opened.state(), snapshot);
            fileProblem = publisher.problem();
            signal(() -> isFileSettled = isSettled);
          }
          opened.follow(longestPoll());
          use(opened);
          followTime();
        }
      } finally {
        reader = null;
      }
    }

    @Override
    public long failed(Throwable failure) {
      followTime();
      boolean isExpected =
          failure instanceof KafkaException
              || failure instanceof PolicyLogReader.NoSuchLogException
              || failure instanceof PolicyLogReader.LogReplacedException
              || failure instanceof PolicyLogReader.IncompleteLogException;
      if (!(failure instanceof PolicyLogReader.LogReplacedException)) {
        setProblem(isExpected ? String.valueOf(failure.getMessage()) : failure.toString());
      }
      if (!isExpected) {
        LOG.error("following policies failed; Weir retries", failure);
      } else if (logPace.isDue()) {
        LOG.warn(
            "policies_not_followed detail=\"{}\"",
            KafkaRefusal.explain(failure, "Read", failure.getMessage()));
      }
      return PAUSE_MILLIS;
    }

    /** Wakes the reader up. Called only to stop the thread. */
    @Override
    public void wakeUp(Thread worker) {
      PolicyLogReader current = reader;
      if (current != null) {
        current.wakeUp();
      }
    }
  }

  private Duration longestPoll() {
    InForce present = inForce;
    long left = present == null ? POLL.toMillis() : present.untilMillis() - clock.getAsLong();
    return Duration.ofMillis(Math.max(1, Math.min(POLL.toMillis(), left)));
  }

  /** Puts policies into force whose {@code effective_from} has been reached. */
  private void followTime() {
    InForce present = inForce;
    long now = clock.getAsLong();
    if (present != null && present.untilMillis() <= now) {
      replace(InForce.of(present.state(), now, present.source()), present);
    }
  }

  private void use(PolicyLogReader opened) {
    PolicyLogState next = opened.state();
    InForce present = inForce;
    if (next.version() == 0) {
      setProblem(reasonWithoutLog(opened, present));
      if (present == null && opened.refusal() == null && snapshot.state() == null) {
        // the file is in force until it is published
        InForce ofFile = ofFile();
        if (ofFile != null) {
          replace(ofFile, null);
        }
      }
      return;
    }
    if (present == null || present.state() != next || present.source() != Source.LOG) {
      replace(InForce.of(next, clock.getAsLong(), Source.LOG), present);
    }
    setProblem(opened.refusal() == null ? fileProblem : opened.refusal());
  }

  private @Nullable String reasonWithoutLog(PolicyLogReader opened, @Nullable InForce present) {
    if (opened.refusal() != null) {
      return opened.refusal();
    }
    if (present != null && present.state().version() > 0) {
      return "no policies are published any more; version %s stays in force"
          .formatted(present.state().version());
    }
    if (snapshot.state() != null) {
      return "no policies are published any more";
    }
    return file == null
        ? "no policies are published; publish them: weir policies apply FILE"
        : fileProblem;
  }

  private void replace(InForce next, @Nullable InForce before) {
    signal(() -> inForce = next);
    LOG.info(
        "policies_in_force version={} before={} policies={} clients={} enforcement={}",
        next.state().version(),
        before == null ? "-" : before.state().version(),
        next.set().policies().size(),
        next.set().clients().settings().size(),
        next.state().enforcement().name().toLowerCase(Locale.ROOT));
    if (next.state().version() > 0) {
      snapshot.replace(next.state());
    }
  }

  /** Sets the reason why the newest version may not be in force; null for none. */
  private void setProblem(@Nullable String reason) {
    signal(() -> problem = reason);
  }

  /** Stops following the log. The policies stay in force. */
  @Override
  public void close() {
    thread.close(STOP_TIMEOUT);
  }
}
