// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.weir.ingest.policy.log.PolicyEditor.RefusedException;
import io.weir.limits.policy.PolicyMatcher;
import io.weir.limits.policy.PolicySet;
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

  private final String bootstrapServers;
  private final String node;
  private final String clientId;
  private final Path folder;
  private final @Nullable AppliedFile file;
  private final LongSupplier clock;
  private final PolicyEditor editor;
  private final SupervisedThread thread;
  private final ReentrantLock lock = new ReentrantLock();
  private final Condition changed = lock.newCondition();
  private @Nullable String rememberedDigest;
  private boolean isFileSettled;
  private long nextComplaintNanos = System.nanoTime();
  private volatile @Nullable InForce inForce;
  private volatile @Nullable String problem;
  private volatile @Nullable PolicyLogReader reader;

  private PolicyFollower(
      String bootstrapServers,
      String node,
      Path folder,
      @Nullable AppliedFile file,
      LongSupplier clock) {
    this.bootstrapServers = bootstrapServers;
    this.node = node;
    this.clientId = "weir-policies-" + node;
    this.folder = folder;
    this.file = file;
    this.clock = clock;
    this.isFileSettled = file == null;
    this.editor = new PolicyEditor(bootstrapServers, clientId);
    this.thread = new SupervisedThread("weir-policies", new Following());
  }

  /**
   * Starts to follow the log, and returns when there are policies to decide by: the log was read to
   * its end and the file applied if that is due, or Kafka does not answer and there is something
   * else.
   *
   * <p>The file is applied if it is another than at this node's last start. A node that has no last
   * start applies it unless the log notes that it was applied before.
   *
   * @param folder where the node keeps its snapshot
   * @param file the node's policy file; null if it has none
   * @param clock the time by which policies come into force, in milliseconds since 1970
   * @throws NoPoliciesException if the log cannot be read and there is nothing else, or it was
   *     never written and there is no file
   */
  public static PolicyFollower start(
      String bootstrapServers,
      String node,
      Path folder,
      @Nullable AppliedFile file,
      LongSupplier clock,
      MeterRegistry registry) {
    PolicyFollower follower = new PolicyFollower(bootstrapServers, node, folder, file, clock);
    PolicySnapshot snapshot = PolicySnapshot.read(folder);
    follower.rememberedDigest = snapshot == null ? null : snapshot.fileDigest();
    boolean hasSnapshot = snapshot != null && snapshot.state().version() > 0;
    follower.thread.start();
    boolean isRead =
        follower.awaitFirst(
            hasSnapshot || file != null ? START_PATIENCE : LONG_START_PATIENCE,
            hasSnapshot || file != null);
    if (!isRead) {
      InForce stopgap = null;
      if (snapshot != null && hasSnapshot) {
        stopgap = InForce.of(snapshot.state(), follower.clock.getAsLong(), Source.SNAPSHOT);
      } else if (file != null) {
        stopgap = follower.ofFile(file);
      }
      if (stopgap == null) {
        String why = follower.problem;
        follower.close();
        throw new NoPoliciesException(
            "there is no policy file (WEIR_POLICIES), and "
                + (why == null ? "no policies were published: weir policies apply FILE" : why));
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

  private @Nullable InForce ofFile(AppliedFile given) {
    try {
      return InForce.of(PolicyState.ofFile(given), clock.getAsLong(), Source.FILE);
    } catch (PolicyState.InvalidPoliciesException invalid) {
      problem = invalid.getMessage();
      return null;
    }
  }

  /** Waits for the first version; ends early if the log cannot be read and that is enough. */
  private boolean awaitFirst(Duration patience, boolean untilFailure) {
    long left = patience.toNanos();
    lock.lock();
    try {
      while (inForce == null && left > 0 && !(untilFailure && problem != null)) {
        left = changed.awaitNanos(left);
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
              || failure instanceof PolicyLogReader.LogBeganAnewException;
      tell(isExpected ? String.valueOf(failure.getMessage()) : failure.toString());
      long now = System.nanoTime();
      if (!isExpected) {
        LOG.error("policies not followed, tried again", failure);
      } else if (now - nextComplaintNanos >= 0) {
        nextComplaintNanos = now + COMPLAINT_NANOS;
        LOG.warn("policies_not_followed detail=\"{}\"", failure.getMessage());
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
    try (PolicyLogReader opened = PolicyLogReader.open(bootstrapServers, clientId)) {
      reader = opened;
      opened.readToEnd(READ_PATIENCE);
      settleFile(opened);
      use(opened);
      while (!thread.isClosing()) {
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

  /** Applies the node's file if that is due; once for each process. */
  private void settleFile(PolicyLogReader opened) {
    AppliedFile given = file;
    if (isFileSettled || given == null) {
      return;
    }
    if (isDue(given, opened.state())) {
      try {
        PolicyEditor.Outcome outcome =
            editor.change(
                "node " + node + " at its start: " + given.name(),
                APPLY_PATIENCE,
                PolicyEdits.apply(given));
        LOG.info(
            "policy_file_applied file={} version={} changed={}",
            given.name(),
            outcome.after().version(),
            outcome.isChange());
        while (opened.state().version() < outcome.after().version() && !thread.isClosing()) {
          opened.follow(POLL);
        }
      } catch (RefusedException refused) {
        if (refused.reason() == PolicyEditor.Reason.UNAVAILABLE) {
          throw new KafkaException(refused.getMessage(), refused);
        }
        LOG.error(
            "policy_file_not_applied file={} detail=\"{}\"", given.name(), refused.getMessage());
      }
    }
    isFileSettled = true;
    rememberedDigest = given.digest();
  }

  private boolean isDue(AppliedFile given, PolicyState state) {
    if (state.version() == 0) {
      return true;
    }
    String remembered = rememberedDigest;
    return remembered == null
        ? state.entry(PolicyKey.ofFile(given.digest())) == null
        : !remembered.equals(given.digest());
  }

  private void use(PolicyLogReader opened) {
    PolicyState next = opened.state();
    InForce present = inForce;
    if (present == null && next.version() == 0 && opened.refusal() == null && file == null) {
      tell("no policies were published: weir policies apply FILE");
      return;
    }
    if (next.version() == 0 && present != null && present.state().version() > 0) {
      tell("the log of policies is empty; version " + present.state().version() + " stays");
      return;
    }
    if (next.version() == 0 && opened.refusal() != null) {
      tell(opened.refusal());
      return;
    }
    if (present == null || present.state() != next || present.source() != Source.LOG) {
      replace(InForce.of(next, clock.getAsLong(), Source.LOG), present);
    }
    tell(opened.refusal());
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
    try {
      new PolicySnapshot(next.state(), rememberedDigest).write(folder);
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
