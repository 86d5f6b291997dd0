// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.topics.catalog.Topic;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.kafka.KafkaRefusal;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Publishes changes of policies to the log. Kafka serializes the changes of all editors on all
 * nodes. All editors use the same transactional id, so the start of a transaction fences off every
 * other editor (KIP-98). After the start, the editor reads the log to its end and applies the
 * change to that state. An editor that another editor fenced off starts again. Each change has a
 * unique id. If Kafka's reply to a commit was lost, the editor looks for the change's id in the
 * log. Thread-safe.
 */
public final class PolicyEditor {
  /**
   * The transactional id of all editors. With ACLs, each editor needs the permission {@code Write}
   * for this id.
   */
  public static final String TRANSACTIONAL_ID = "weir-policies";

  /** Maximum length of the name of a change's author, in characters. */
  public static final int MAX_NAME_CHARS = 256;

  /** The broker setting that bounds the transaction timeout of an editor. */
  private static final String MAX_TIMEOUT_SETTING = "transaction.max.timeout.ms";

  /**
   * Minimum pause between two attempts. Without a pause, concurrent editors would fence each other
   * off repeatedly.
   */
  private static final long MIN_PAUSE_MILLIS = 20;

  private static final long MAX_PAUSE_MILLIS = 2_000;

  private final KafkaConnection kafka;
  private final String clientId;
  private final Clock clock = Clock.systemUTC();

  /** Serializes the changes of one process, so that its editors do not fence each other off. */
  private final ReentrantLock turn = new ReentrantLock();

  /**
   * Creates an editor. Does not contact Kafka.
   *
   * @param clientId the client id of the editor's Kafka clients
   */
  public PolicyEditor(KafkaConnection kafka, String clientId) {
    this.kafka = kafka;
    this.clientId = clientId;
  }

  /**
   * The entry of a key that a change intends to write.
   *
   * @param content the new content; null to delete the key
   * @param order the order of a policy; 0 for other kinds
   * @param before the policy in force until the new content takes effect; null if the log contains
   *     this policy, or if the content takes effect now
   */
  public record Draft(
      PolicyKey key, @Nullable JsonNode content, long order, @Nullable JsonNode before) {
    /** Creates a draft of a policy. */
    public Draft(PolicyKey key, @Nullable JsonNode content, long order) {
      this(key, content, order, null);
    }

    /** Creates a draft without an order. */
    public Draft(PolicyKey key, @Nullable JsonNode content) {
      this(key, content, 0, null);
    }
  }

  /** A change of the policies. The editor may apply a change several times, to newer states. */
  public interface Change {
    /**
     * Returns the entries to write; an empty list if the state already has the intended content.
     *
     * @throws RefusedException if the change cannot be applied to this state
     */
    List<Draft> on(PolicyLogState state) throws RefusedException;

    /**
     * Returns whether the change replaces the whole policy set. Only such a change may be the first
     * change of a log, or replace unreadable entries.
     */
    default boolean isWhole() {
      return false;
    }

    /**
     * Returns whether the change applies only to an empty log. If the log contains a version, or a
     * record that this release cannot read, the change has no effect.
     */
    default boolean isFirst() {
      return false;
    }

    /**
     * Reviews all entries that the change would write, including deletions of unreadable records.
     * Called before the entries are written.
     *
     * @throws RefusedException if the change must not be made
     */
    default void review(PolicyLogState state, List<Draft> drafts) throws RefusedException {}

    /**
     * Returns the minimum version of the change. After a loss of the log, the minimum exceeds all
     * earlier versions.
     */
    default long leastVersion() {
      return 1;
    }
  }

  /**
   * The result of a change.
   *
   * @param before the state to which the change was applied
   * @param after the state after the change; equal to {@code before} if the change had no effect
   */
  public record Outcome(PolicyLogState before, PolicyLogState after) {
    /** Returns whether the change had an effect. */
    public boolean isChange() {
      return after.version() != before.version();
    }
  }

  /** The reason why a change was not made. */
  public enum Reason {
    /** The policies would not be valid. */
    INVALID,
    /** The object to change does not exist. */
    NOT_FOUND,
    /** The object was changed after the caller read it. */
    CHANGED_SINCE,
    /** Kafka does not reply, or the topics do not exist. */
    UNAVAILABLE
  }

  /** Thrown when a change was not made. */
  public static final class RefusedException extends Exception {
    private static final long serialVersionUID = 1L;

    private final Reason reason;
    private final transient List<String> problems;

    /** Creates the exception with one problem. */
    public RefusedException(Reason reason, String problem) {
      this(reason, List.of(problem), null);
    }

    private RefusedException(Reason reason, List<String> problems, @Nullable Throwable cause) {
      super(String.join("; ", problems), cause);
      this.reason = reason;
      this.problems = List.copyOf(problems);
    }

    /** Returns the reason. */
    public Reason reason() {
      return reason;
    }

    /** Returns the problems, one sentence each. */
    public List<String> problems() {
      return problems;
    }
  }

  /**
   * Applies a change completely or not at all. Blocks until Kafka has committed the change.
   *
   * @param changedBy the author of the change, as free text
   * @param timeout maximum time for all attempts
   * @throws RefusedException if the change was not made. With {@link Reason#UNAVAILABLE}, Kafka may
   *     have made the change if it became unavailable during the commit
   */
  public Outcome change(String changedBy, Duration timeout, Change change) throws RefusedException {
    long deadlineNanos = System.nanoTime() + timeout.toNanos();
    Attempt attempt = new Attempt(printable(changedBy), change, deadlineNanos);
    try {
      if (!turn.tryLock(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
        throw unavailable(new TimeoutException("timed out while other editors changed policies"));
      }
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw unavailable(new KafkaException("interrupted", interrupted));
    }
    try {
      return attempt.run();
    } finally {
      turn.unlock();
    }
  }

  /** Returns a name with its control characters replaced, so that it fits into one line. */
  private static String printable(String name) {
    StringBuilder shown = new StringBuilder();
    name.codePoints()
        .limit(MAX_NAME_CHARS)
        .forEach(point -> shown.appendCodePoint(Character.isISOControl(point) ? '?' : point));
    return shown.toString();
  }

  private static boolean isFencing(Throwable failed) {
    for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
      if (cause instanceof ProducerFencedException
          || cause instanceof InvalidProducerEpochException) {
        return true;
      }
    }
    return false;
  }

  /**
   * Returns whether the broker does not allow the transaction timeout. The Kafka client has no
   * exception type for this case.
   */
  private static boolean isTimeoutTooLong(Exception failed) {
    return String.valueOf(failed.getMessage()).contains(MAX_TIMEOUT_SETTING);
  }

  private RefusedException unavailable(Exception failed) {
    Throwable cause = failed.getCause() == null ? failed : failed.getCause();
    String why;
    if (isFencing(failed)) {
      why = "timed out while other editors changed policies; try again";
    } else if (isTimeoutTooLong(failed)) {
      why = "the broker's " + MAX_TIMEOUT_SETTING + " is too low; set it to at least 30000";
    } else {
      why = KafkaRefusal.explain(failed, "Write (or Read)", cause.getMessage());
    }
    return new RefusedException(
        Reason.UNAVAILABLE, List.of("Kafka at " + kafka + " (WEIR_KAFKA): " + why), failed);
  }

  /**
   * The attempts to apply one change, until the change is made or refused, or the timeout passes.
   * Not thread-safe.
   */
  private final class Attempt {
    private final String changedBy;
    private final Change change;
    private final long deadlineNanos;
    private final String id = UUID.randomUUID().toString();
    private @Nullable PolicyLogState triedOn;
    private boolean wasMade;

    Attempt(String changedBy, Change change, long deadlineNanos) {
      this.changedBy = changedBy;
      this.change = change;
      this.deadlineNanos = deadlineNanos;
    }

    private Duration left() {
      return Duration.ofNanos(Math.max(1_000_000, deadlineNanos - System.nanoTime()));
    }

    Outcome run() throws RefusedException {
      Exception last = new TimeoutException("timed out before the first request to Kafka");
      while (System.nanoTime() < deadlineNanos && !Thread.currentThread().isInterrupted()) {
        long beganNanos = System.nanoTime();
        try {
          return change.isWhole() ? tryWhole() : tryWithOneReader();
        } catch (PolicyLogReader.NoSuchLogException missing) {
          throw new RefusedException(
              Reason.UNAVAILABLE, List.of(String.valueOf(missing.getMessage())), missing);
        } catch (PolicyLogReader.IncompleteLogException notWhole) {
          throw new RefusedException(
              Reason.INVALID, List.of(String.valueOf(notWhole.getMessage())), notWhole);
        } catch (RecordTooLargeException tooLarge) {
          throw new RefusedException(
              Reason.INVALID,
              List.of(
                  "a policy, or the settings of a client, must have at most %s bytes"
                      .formatted(Topic.MAX_RECORD_BYTES)),
              tooLarge);
        } catch (PolicyLogState.InvalidPoliciesException invalid) {
          throw new RefusedException(Reason.INVALID, invalid.problems(), invalid);
        } catch (KafkaException | PolicyLogReader.LogReplacedException failed) {
          last = failed;
          if (KafkaRefusal.is(failed) || isTimeoutTooLong(failed)) {
            break;
          }
          pause(System.nanoTime() - beganNanos);
        }
      }
      throw unavailable(last);
    }

    /**
     * Attempts the change with one reader. Reads the log before the transaction begins, so that
     * other editors wait only while new records are read.
     */
    private Outcome tryWithOneReader()
        throws RefusedException, PolicyLogState.InvalidPoliciesException {
      try (PolicyLogReader reader = PolicyLogReader.open(kafka, clientId)) {
        PolicyLogState read = reader.readToEnd(left(), this::look);
        while (!wasMade) {
          long beganNanos = System.nanoTime();
          try (PolicyTransaction transaction = begin()) {
            PolicyLogState before = reader.catchUp(left(), this::look);
            if (wasMade) {
              return made(before);
            }
            requireDecidable(reader);
            return commit(transaction, reader, before, change.on(before));
          } catch (KafkaException failed) {
            if (!isFencing(failed) || System.nanoTime() > deadlineNanos) {
              throw failed;
            }
            pause(System.nanoTime() - beganNanos);
          }
        }
        return made(read);
      }
    }

    /**
     * Attempts a change that replaces the whole set. Reads the whole log within the transaction.
     * The log may be incomplete or invalid.
     */
    private Outcome tryWhole() throws RefusedException, PolicyLogState.InvalidPoliciesException {
      try (PolicyTransaction transaction = begin();
          PolicyLogReader reader = PolicyLogReader.open(kafka, clientId)) {
        PolicyLogState before;
        try {
          before = reader.readToEnd(left(), this::look);
        } catch (PolicyLogReader.IncompleteLogException notWhole) {
          if (change.isFirst()) {
            throw notWhole;
          }
          before = PolicyLogState.EMPTY;
        }
        if (wasMade) {
          return made(before);
        }
        if (change.isFirst() && (before.version() > 0 || reader.refusal() != null)) {
          return new Outcome(before, before);
        }
        List<Draft> drafts = new ArrayList<>(change.on(before));
        addBeyondTheState(reader.received(), drafts);
        return commit(transaction, reader, before, drafts);
      }
    }

    private PolicyTransaction begin() {
      return PolicyTransaction.begin(kafka, clientId, left());
    }

    private Outcome made(PolicyLogState after) {
      return new Outcome(triedOn == null ? PolicyLogState.EMPTY : triedOn, after);
    }

    private Outcome commit(
        PolicyTransaction transaction,
        PolicyLogReader reader,
        PolicyLogState before,
        List<Draft> drafts)
        throws RefusedException, PolicyLogState.InvalidPoliciesException {
      change.review(before, drafts);
      List<PolicyEntry> entries =
          new DraftEntries(reader.received(), before, clock.millis())
              .of(drafts, change.leastVersion(), changedBy, id);
      if (entries.isEmpty()) {
        return new Outcome(before, before);
      }
      PolicyLogState after = before.after(entries);
      triedOn = before;
      transaction.commit(entries, deadlineNanos);
      return new Outcome(before, after);
    }

    /**
     * Checks whether an entry belongs to this change. Such an entry shows that an earlier attempt
     * made the change, and that Kafka's reply was lost.
     */
    private void look(PolicyEntry entry) {
      wasMade |= entry.change().id().equals(id);
    }

    private void requireDecidable(PolicyLogReader reader) throws RefusedException {
      String refusal = reader.refusal();
      if (refusal != null) {
        throw new RefusedException(
            Reason.INVALID,
            List.of(
                refusal,
                "change the policies with the version of Weir that wrote them, or publish a"
                    + " complete file: weir policies apply FILE"),
            null);
      }
      if (reader.state().version() == 0) {
        throw new RefusedException(
            Reason.INVALID,
            "no policies are published; publish a policy file first: weir policies apply FILE");
      }
    }

    /**
     * Adds deletions of unreadable and invalid entries whose keys the change does not write. Keeps
     * the enforcement switch and the notes of applied files, because policy files lack them.
     */
    private void addBeyondTheState(ReceivedChanges received, List<Draft> drafts) {
      Set<PolicyKey> keys = new TreeSet<>(received.keysBeyondTheState());
      drafts.forEach(draft -> keys.remove(draft.key()));
      for (PolicyKey key : keys) {
        PolicyEntry known = received.beyondTheState(key);
        boolean stays =
            known != null
                && (key.kind() == PolicyKey.Kind.FILE || key.equals(PolicyKey.ENFORCEMENT));
        if (!stays) {
          drafts.add(new Draft(key, null));
        }
      }
    }
  }

  /**
   * Waits for a random time, at most the duration of the failed attempt, so that another editor can
   * finish.
   */
  private static void pause(long tookNanos) {
    long most = Math.max(MIN_PAUSE_MILLIS, Math.min(MAX_PAUSE_MILLIS, tookNanos / 1_000_000));
    try {
      TimeUnit.MILLISECONDS.sleep(ThreadLocalRandom.current().nextLong(most / 2, most + 1));
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
