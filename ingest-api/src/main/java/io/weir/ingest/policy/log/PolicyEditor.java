// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.policy.log;

import com.fasterxml.jackson.databind.JsonNode;
import java.nio.charset.StandardCharsets;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.CommonClientConfigs;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.jspecify.annotations.Nullable;

/**
 * Changes policies, one change after another over the whole fleet. All editors use one
 * transactional id: to begin a change fences off every other editor (KIP-98), so what is then read
 * to the end of the log is what the change applies to, or the change is not committed and begun
 * anew. Thread-safe.
 */
public final class PolicyEditor {
  /** The transactional id of all editors, for which each needs the right to write. */
  public static final String TRANSACTIONAL_ID = "weir-policies";

  /** Longest text by which an entry tells who changed it. */
  public static final int MAX_NAME_CHARS = 256;

  private static final int REQUEST_TIMEOUT_MILLIS = 5_000;
  private static final int TRANSACTION_TIMEOUT_MILLIS = 30_000;

  /** Two editors at once fence each other off in turn until one is left alone for a moment. */
  private static final int MOST_TRIES = 30;

  private static final int MIN_PAUSE_MILLIS = 10;
  private static final int MAX_PAUSE_MILLIS = 400;

  private final String bootstrapServers;
  private final String clientId;
  private final Clock clock;

  /**
   * Creates an editor. Does not contact Kafka.
   *
   * @param clientId the name by which brokers know its clients
   */
  public PolicyEditor(String bootstrapServers, String clientId) {
    this.bootstrapServers = bootstrapServers;
    this.clientId = clientId;
    this.clock = Clock.systemUTC();
  }

  /**
   * How a key shall stand.
   *
   * @param content null to delete it
   * @param order the order of a policy; 0 for other kinds
   */
  public record Draft(PolicyKey key, @Nullable JsonNode content, long order) {
    /** Creates a draft without an order. */
    public Draft(PolicyKey key, @Nullable JsonNode content) {
      this(key, content, 0);
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
    String name =
        changedBy.length() > MAX_NAME_CHARS ? changedBy.substring(0, MAX_NAME_CHARS) : changedBy;
    KafkaException last = new TimeoutException("there was no time to ask Kafka");
    for (int tries = 0; tries < MOST_TRIES && System.nanoTime() < deadlineNanos; tries++) {
      try {
        return tryOnce(name, Duration.ofNanos(deadlineNanos - System.nanoTime()), change);
      } catch (ProducerFencedException | InvalidProducerEpochException | RetriableException again) {
        last = again;
        pause(tries);
      } catch (PolicyLogReader.NoSuchLogException missing) {
        throw new RefusedException(
            Reason.UNAVAILABLE, List.of(String.valueOf(missing.getMessage())), missing);
      } catch (KafkaException failed) {
        if (!isFencing(failed)) {
          throw unavailable(failed);
        }
        last = failed;
        pause(tries);
      }
    }
    throw unavailable(last);
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

  private RefusedException unavailable(KafkaException failed) {
    Throwable cause = failed.getCause() == null ? failed : failed.getCause();
    return new RefusedException(
        Reason.UNAVAILABLE,
        List.of("Kafka at " + bootstrapServers + " (WEIR_KAFKA): " + cause.getMessage()),
        failed);
  }

  private static void pause(int tries) {
    int most = Math.min(MAX_PAUSE_MILLIS, MIN_PAUSE_MILLIS << Math.min(tries, 10));
    try {
      TimeUnit.MILLISECONDS.sleep(ThreadLocalRandom.current().nextInt(most / 2, most + 1));
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  private Outcome tryOnce(String changedBy, Duration patience, Change change)
      throws RefusedException {
    try (KafkaProducer<byte[], byte[]> producer = producer(patience);
        PolicyLogReader reader = PolicyLogReader.open(bootstrapServers, clientId)) {
      producer.initTransactions();
      PolicyState before = reader.readToEnd(patience);
      String refusal = reader.refusal();
      if (refusal != null) {
        throw new RefusedException(
            Reason.INVALID, refusal + "; change it by the release that wrote it");
      }
      List<PolicyEntry> entries = entries(before, changedBy, change.on(before));
      if (entries.isEmpty()) {
        return new Outcome(before, before);
      }
      PolicyState after = before.after(entries);
      commit(producer, entries);
      return new Outcome(before, after);
    } catch (PolicyState.InvalidPoliciesException invalid) {
      throw new RefusedException(Reason.INVALID, invalid.problems(), invalid);
    }
  }

  private List<PolicyEntry> entries(PolicyState before, String changedBy, List<Draft> drafts) {
    List<PolicyEntry> entries = new ArrayList<>(drafts.size());
    long now = clock.millis();
    for (Draft draft : drafts) {
      JsonNode content = draft.content();
      entries.add(
          new PolicyEntry(
              draft.key(),
              before.version() + 1,
              entries.size() + 1,
              drafts.size(),
              now,
              changedBy,
              draft.order(),
              content == null ? null : PolicyEntryCodec.normal(content),
              untilThen(before.entry(draft.key()), draft, now)));
    }
    return entries;
  }

  /** Returns what stays in force until a draft is; null if the draft is at once, or nothing is. */
  private static @Nullable JsonNode untilThen(
      @Nullable PolicyEntry present, Draft draft, long now) {
    JsonNode content = draft.content();
    boolean isLater =
        draft.key().kind() == PolicyKey.Kind.POLICY
            && content != null
            && PolicyState.effectiveFromMillis(content) > now;
    return isLater && present != null ? present.contentAt(now) : null;
  }

  private static void commit(KafkaProducer<byte[], byte[]> producer, List<PolicyEntry> entries) {
    producer.beginTransaction();
    List<Future<RecordMetadata>> sent = new ArrayList<>(entries.size());
    for (PolicyEntry entry : entries) {
      PolicyKey key = entry.key();
      sent.add(
          producer.send(
              new ProducerRecord<>(
                  key.partition().topic(),
                  key.partition().partition(),
                  key.recordKey().getBytes(StandardCharsets.UTF_8),
                  PolicyEntryCodec.encode(entry))));
    }
    producer.flush();
    sent.forEach(PolicyEditor::requireSent);
    producer.commitTransaction();
  }

  private static void requireSent(Future<RecordMetadata> record) {
    try {
      record.get();
    } catch (ExecutionException failed) {
      throw failed.getCause() instanceof KafkaException refused
          ? refused
          : new KafkaException("a policy was not written", failed);
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
      throw new KafkaException("interrupted", interrupted);
    }
  }

  private KafkaProducer<byte[], byte[]> producer(Duration patience) {
    int blockMillis = (int) Math.max(1, Math.min(patience.toMillis(), TRANSACTION_TIMEOUT_MILLIS));
    int requestMillis = Math.min(REQUEST_TIMEOUT_MILLIS, blockMillis);
    return new KafkaProducer<>(
        Map.of(
            CommonClientConfigs.BOOTSTRAP_SERVERS_CONFIG,
            bootstrapServers,
            CommonClientConfigs.CLIENT_ID_CONFIG,
            clientId,
            ProducerConfig.TRANSACTIONAL_ID_CONFIG,
            TRANSACTIONAL_ID,
            ProducerConfig.TRANSACTION_TIMEOUT_CONFIG,
            TRANSACTION_TIMEOUT_MILLIS,
            ProducerConfig.MAX_BLOCK_MS_CONFIG,
            blockMillis,
            ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG,
            requestMillis,
            ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG,
            Math.max(requestMillis, blockMillis),
            ProducerConfig.LINGER_MS_CONFIG,
            0),
        new ByteArraySerializer(),
        new ByteArraySerializer());
  }
}
