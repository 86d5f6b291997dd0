// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.databind.JsonNode;
import io.weir.topics.catalog.Topic;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.kafka.KafkaRefusal;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TimeoutException;
import org.jspecify.annotations.Nullable;

/**
 * Changes policies, one change after another over the whole fleet. All editors use one
 * transactional id: to begin a transaction fences off every other editor (KIP-98), so what is then
 * read to the end of the log is what the change applies to, or the change is not committed and
 * begun anew. A change carries an id, by which it is recognized if Kafka's answer was lost.
 * Thread-safe.
 */
public final class PolicyEditor {
  /** The transactional id of all editors, for which each needs the right to write. */
  public static final String TRANSACTIONAL_ID = "weir-policies";

  /** Longest text by which an entry tells who changed it. */
  public static final int MAX_NAME_CHARS = 256;

  private static final int REQUEST_TIMEOUT_MILLIS = 5_000;
  private static final int TRANSACTION_TIMEOUT_MILLIS = 30_000;

  /** A change of 100,000 clients is written in some hundred batches; a flush sends the last one. */
  private static final int LINGER_MILLIS = 1_000;

  private static final int BATCH_BYTES = 256 << 10;

  /** Editors at once fence each other off in turn until one is left alone for a moment. */
  private static final long MIN_PAUSE_MILLIS = 20;

  private static final long MAX_PAUSE_MILLIS = 2_000;

  /** A producer whose transaction has ended has nothing left to do. */
  private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(1);

  private final KafkaConnection kafka;
  private final String clientId;
  private final Clock clock;

  /** Changes of one process do not fence each other off. */
  private final ReentrantLock turn = new ReentrantLock();

  /**
   * Creates an editor. Does not contact Kafka.
   *
   * @param clientId the name by which brokers know its clients
   */
  public PolicyEditor(KafkaConnection kafka, String clientId) {
    this.kafka = kafka;
    this.clientId = clientId;
    this.clock = Clock.systemUTC();
  }

  /**
   * How a key shall stand.
   *
   * @param content null to delete it
   * @param order the order of a policy; 0 for other kinds
   * @param before what is in force until a later content is, if the log does not tell; else null
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

  /** A change, which may be tried several times, each time on a newer state. */
  public interface Change {
    /**
     * Returns what is to be changed; nothing if the state is as it shall be.
     *
     * @throws RefusedException if the change does not fit to this state
     */
    List<Draft> on(PolicyState state) throws RefusedException;

    /**
     * Returns whether the change says of everything how it shall stand. Only such a change may be
     * the first one, or replace what cannot be read.
     */
    default boolean isWhole() {
      return false;
    }

    /**
     * Returns whether the change is made only if nothing is published: neither a version nor a
     * record that this release cannot read. Otherwise it changes nothing.
     */
    default boolean isFirst() {
      return false;
    }

    /**
     * Reviews all that the change would write, the deletion of unreadable records included, before
     * it is written.
     *
     * @throws RefusedException if the change must not be made
     */
    default void review(PolicyState state, List<Draft> drafts) throws RefusedException {}

    /** Returns the least version that the change may have: where the log was lost, a later one. */
    default long leastVersion() {
      return 1;
    }
  }

  /**
   * What became of a change.
   *
   * @param before the state to which it was applied
   * @param after the state since; the same if nothing was to be changed
   */
  public record Outcome(PolicyState before, PolicyState after) {
    /** Returns whether anything was changed. */
    public boolean isChange() {
      return after.version() != before.version();
    }
  }

  /** Why a change was not made. */
  public enum Reason {
    /** The policies would not be valid. */
    INVALID,
    /** What is to be changed is not there. */
    NOT_FOUND,
    /** It was changed since the caller has seen it. */
    CHANGED_SINCE,
    /** Kafka does not answer, or the topics are missing. */
    UNAVAILABLE
  }

  /** Signals that a change was not made. */
  public static final class RefusedException extends Exception {
    private static final long serialVersionUID = 1L;

    private final Reason reason;
    private final transient List<String> problems;

    /** Creates the signal with one problem. */
    public RefusedException(Reason reason, String problem) {
      this(reason, List.of(problem), null);
    }

    private RefusedException(Reason reason, List<String> problems, @Nullable Throwable cause) {
      super(String.join("; ", problems), cause);
      this.reason = reason;
      this.problems = List.copyOf(problems);
    }

    /** Returns the kind of reason. */
    public Reason reason() {
      return reason;
    }

    /** Returns the reasons, one sentence each. */
    public List<String> problems() {
      return problems;
    }
  }

  /**
   * Makes a change, or nothing of it. Blocks until Kafka has committed it.
   *
   * @param changedBy who changes it, in their own words
   * @param patience how long to try
   * @throws RefusedException if it was not made; with {@link Reason#UNAVAILABLE} it may have been
   *     made all the same if Kafka went away in that moment
   */
  public Outcome change(String changedBy, Duration patience, Change change)
      throws RefusedException {
    long deadlineNanos = System.nanoTime() + patience.toNanos();
    Attempt attempt = new Attempt(printable(changedBy), change, deadlineNanos);
    try {
      if (!turn.tryLock(patience.toNanos(), TimeUnit.NANOSECONDS)) {
        throw unavailable(new TimeoutException("others have changed policies all the time"));
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

  /** Returns a name as one line can show it. */
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

  private RefusedException unavailable(Exception failed) {
    Throwable cause = failed.getCause() == null ? failed : failed.getCause();
    String why =
        isFencing(failed)
            ? "others have changed policies all the time; try again"
            : KafkaRefusal.explain(failed, "Write (or Read)", cause.getMessage());
    return new RefusedException(
        Reason.UNAVAILABLE, List.of("Kafka at " + kafka + " (WEIR_KAFKA): " + why), failed);
  }

  /** One change, tried until it is made, refused, or the time is over. Not thread-safe. */
  private final class Attempt {
    private final String changedBy;
    private final Change change;
    private final long deadlineNanos;
    private final String id = UUID.randomUUID().toString();
    private @Nullable PolicyState triedOn;
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
      Exception last = new TimeoutException("there was no time to ask Kafka");
      while (System.nanoTime() < deadlineNanos && !Thread.currentThread().isInterrupted()) {
        long beganNanos = System.nanoTime();
        try {
          return change.isWhole() ? tryWhole() : tryWithOneReader();
        } catch (PolicyLogReader.NoSuchLogException missing) {
          throw new RefusedException(
              Reason.UNAVAILABLE, List.of(String.valueOf(missing.getMessage())), missing);
        } catch (PolicyLogReader.LogNotWholeException notWhole) {
          throw new RefusedException(
              Reason.INVALID, List.of(String.valueOf(notWhole.getMessage())), notWhole);
        } catch (RecordTooLargeException tooLarge) {
          throw new RefusedException(
              Reason.INVALID,
              List.of("a policy or client has more than " + Topic.MAX_RECORD_BYTES + " bytes"),
              tooLarge);
        } catch (PolicyState.InvalidPoliciesException invalid) {
          throw new RefusedException(Reason.INVALID, invalid.problems(), invalid);
        } catch (KafkaException | PolicyLogReader.LogBeganAnewException failed) {
          last = failed;
          if (KafkaRefusal.is(failed)) {
            break;
          }
          pause(System.nanoTime() - beganNanos);
        }
      }
      throw unavailable(last);
    }

    /** Reads the log before it begins, so that little is left to read while others wait. */
    private Outcome tryWithOneReader()
        throws RefusedException, PolicyState.InvalidPoliciesException {
      try (PolicyLogReader reader = PolicyLogReader.open(kafka, clientId)) {
        PolicyState read = reader.readToEnd(left(), this::look);
        while (!wasMade) {
          long beganNanos = System.nanoTime();
          try (Transaction transaction = new Transaction()) {
            PolicyState before = reader.catchUp(left(), this::look);
            if (wasMade) {
              return made(before);
            }
            requireDecidable(reader, before);
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

    /** Reads all of the log when nobody else can change it: it may not be whole, or not valid. */
    private Outcome tryWhole() throws RefusedException, PolicyState.InvalidPoliciesException {
      try (Transaction transaction = new Transaction();
          PolicyLogReader reader = PolicyLogReader.open(kafka, clientId)) {
        PolicyState before;
        try {
          before = reader.readToEnd(left(), this::look);
        } catch (PolicyLogReader.LogNotWholeException notWhole) {
          if (change.isFirst()) {
            throw notWhole;
          }
          before = PolicyState.EMPTY;
        }
        if (wasMade) {
          return made(before);
        }
        if (change.isFirst() && (before.version() > 0 || reader.refusal() != null)) {
          return new Outcome(before, before);
        }
        List<Draft> drafts = new ArrayList<>(change.on(before));
        addBeyondTheState(reader, drafts);
        return commit(transaction, reader, before, drafts);
      }
    }

    private Outcome made(PolicyState after) {
      return new Outcome(triedOn == null ? PolicyState.EMPTY : triedOn, after);
    }

    private Outcome commit(
        Transaction transaction, PolicyLogReader reader, PolicyState before, List<Draft> drafts)
        throws RefusedException, PolicyState.InvalidPoliciesException {
      change.review(before, drafts);
      List<PolicyEntry> entries = entries(reader, before, drafts);
      if (entries.isEmpty()) {
        return new Outcome(before, before);
      }
      PolicyState after = before.after(entries);
      triedOn = before;
      transaction.commit(entries);
      return new Outcome(before, after);
    }

    /** Recognizes this change in the log: it was made, though Kafka's answer was lost. */
    private void look(PolicyEntry entry) {
      wasMade |= entry.change().id().equals(id);
    }

    private void requireDecidable(PolicyLogReader reader, PolicyState before)
        throws RefusedException {
      String refusal = reader.refusal();
      if (refusal != null) {
        throw new RefusedException(
            Reason.INVALID,
            List.of(
                refusal,
                "change it by the release that wrote it, or publish everything again:"
                    + " weir policies apply FILE"),
            null);
      }
      if (before.version() == 0) {
        throw new RefusedException(
            Reason.INVALID,
            "nothing is published; publish a policy file first: weir policies apply FILE");
      }
    }

    /**
     * Deletes what cannot be read or decided by, unless it is written anew. The switch and the
     * notes of files stay: they are not of the file.
     */
    private void addBeyondTheState(PolicyLogReader reader, List<Draft> drafts) {
      Set<PolicyKey> keys = new TreeSet<>(reader.keysBeyondTheState());
      drafts.forEach(draft -> keys.remove(draft.key()));
      for (PolicyKey key : keys) {
        PolicyEntry known = reader.beyondTheState(key);
        boolean stays =
            known != null
                && (key.kind() == PolicyKey.Kind.FILE || key.equals(PolicyKey.ENFORCEMENT));
        if (!stays) {
          drafts.add(new Draft(key, null));
        }
      }
    }

    private List<PolicyEntry> entries(
        PolicyLogReader reader, PolicyState before, List<Draft> drafts) {
      if (drafts.isEmpty()) {
        return List.of();
      }
      long version = Math.max(reader.greatestVersion() + 1, change.leastVersion());
      int[] parts = new int[2];
      for (Draft draft : drafts) {
        parts[topicOf(draft)]++;
      }
      long ofPolicies = parts[0] > 0 ? version : reader.newestWholeVersion(false);
      long ofClients = parts[1] > 0 ? version : reader.newestWholeVersion(true);
      long now = clock.millis();
      PolicyEntry.Change[] changes = new PolicyEntry.Change[2];
      for (int topic = 0; topic < 2; topic++) {
        changes[topic] =
            new PolicyEntry.Change(
                version, Math.max(1, parts[topic]), ofPolicies, ofClients, now, changedBy, id);
      }
      List<PolicyEntry> entries = new ArrayList<>(drafts.size());
      for (Draft draft : drafts) {
        entries.add(
            new PolicyEntry(
                draft.key(),
                changes[topicOf(draft)],
                draft.order(),
                draft.content(),
                untilThen(known(reader, before, draft.key()), draft, now)));
      }
      return entries;
    }

    private static @Nullable PolicyEntry known(
        PolicyLogReader reader, PolicyState before, PolicyKey key) {
      PolicyEntry entry = before.entry(key);
      return entry == null ? reader.beyondTheState(key) : entry;
    }

    /** A transaction, whose beginning ends those of all other editors. */
    private final class Transaction implements AutoCloseable {
      private final KafkaProducer<byte[], byte[]> producer = producer(left());
      private final AtomicReference<@Nullable Exception> failed = new AtomicReference<>();

      Transaction() {
        try {
          producer.initTransactions();
        } catch (KafkaException notBegun) {
          close();
          throw notBegun;
        }
      }

      @SuppressWarnings("FutureReturnValueIgnored") // the callback is told of every failure
      void commit(List<PolicyEntry> entries) {
        producer.beginTransaction();
        for (PolicyEntry entry : entries) {
          PolicyKey key = entry.key();
          producer.send(
              new ProducerRecord<>(
                  key.partition().topic(),
                  key.partition().partition(),
                  key.recordKey().getBytes(StandardCharsets.UTF_8),
                  PolicyEntryCodec.encode(entry)),
              (sent, failure) -> {
                if (failure != null) {
                  failed.compareAndSet(null, failure);
                }
              });
          requireNothingFailed();
        }
        producer.flush();
        requireNothingFailed();
        producer.commitTransaction();
      }

      private void requireNothingFailed() {
        Exception failure = failed.get();
        if (failure != null) {
          throw failure instanceof KafkaException ofKafka
              ? ofKafka
              : new KafkaException("a policy was not written", failure);
        }
        if (System.nanoTime() > deadlineNanos) {
          throw new TimeoutException("the policies were not written in time");
        }
      }

      @Override
      public void close() {
        producer.close(CLOSE_TIMEOUT);
      }
    }
  }

  private static int topicOf(Draft draft) {
    return draft.key().kind() == PolicyKey.Kind.CLIENT ? 1 : 0;
  }

  /** Waits at random, up to as long as the try took: who is faster then finds nobody in its way. */
  private static void pause(long tookNanos) {
    long most = Math.max(MIN_PAUSE_MILLIS, Math.min(MAX_PAUSE_MILLIS, tookNanos / 1_000_000));
    try {
      TimeUnit.MILLISECONDS.sleep(ThreadLocalRandom.current().nextLong(most / 2, most + 1));
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  /** Returns what stays in force until a draft is; null if the draft is at once, or nothing is. */
  private static @Nullable JsonNode untilThen(
      @Nullable PolicyEntry present, Draft draft, long now) {
    JsonNode content = draft.content();
    boolean isLater =
        draft.key().kind() == PolicyKey.Kind.POLICY
            && content != null
            && PolicyState.effectiveFromMillis(content) > now;
    if (!isLater) {
      return null;
    }
    return present == null ? draft.before() : present.contentAt(now);
  }

  private KafkaProducer<byte[], byte[]> producer(Duration patience) {
    int blockMillis = (int) Math.max(1, Math.min(patience.toMillis(), TRANSACTION_TIMEOUT_MILLIS));
    int requestMillis = Math.min(REQUEST_TIMEOUT_MILLIS, blockMillis);
    return kafka.producer(
        Map.ofEntries(
            Map.entry(CommonClientConfigs.CLIENT_ID_CONFIG, clientId),
            Map.entry(ProducerConfig.TRANSACTIONAL_ID_CONFIG, TRANSACTIONAL_ID),
            Map.entry(ProducerConfig.TRANSACTION_TIMEOUT_CONFIG, TRANSACTION_TIMEOUT_MILLIS),
            Map.entry(ProducerConfig.MAX_BLOCK_MS_CONFIG, blockMillis),
            Map.entry(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, requestMillis),
            Map.entry(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, requestMillis + blockMillis),
            Map.entry(ProducerConfig.LINGER_MS_CONFIG, LINGER_MILLIS),
            Map.entry(ProducerConfig.BATCH_SIZE_CONFIG, BATCH_BYTES),
            Map.entry(ProducerConfig.COMPRESSION_TYPE_CONFIG, "lz4"),
            Map.entry(ProducerConfig.MAX_REQUEST_SIZE_CONFIG, Topic.MAX_RECORD_BYTES)));
  }
}
