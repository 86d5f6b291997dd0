// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.settle;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.weir.ingest.settle.CallFinder.CallQuery;
import io.weir.ingest.settle.CallFinder.Finding;
import io.weir.ingest.settle.CallFinder.Found;
import io.weir.ingest.settle.SettleOutcome.Exhausted;
import io.weir.ingest.settle.SettleOutcome.NotFound;
import io.weir.ingest.settle.SettleOutcome.Unavailable;
import io.weir.servers.testing.TestKafka;
import io.weir.testing.Await;
import io.weir.testing.FullSuite;
import io.weir.topics.kafka.KafkaConnection;
import io.weir.topics.model.UsagePosition;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The cost of a search, its effect on other clients, and the use of a position. */
final class SearchBoundsIT {
  private static final Duration HORIZON = Duration.ofMinutes(30);
  private static final long MINUTE = 60_000;
  private static final int LONG_LOG = 120;

  private final ExecutorService threads = Executors.newCachedThreadPool();
  private final long nowMillis = System.currentTimeMillis();

  /** The clock by which bytes are credited back. */
  private volatile LongSupplier budgetNanos = System::nanoTime;

  private TestKafka kafka;
  private SearchedLog log;
  private KafkaCallFinder finder;

  @BeforeEach
  void start() throws Exception {
    kafka = TestKafka.borrow();
    log = SearchedLog.create(kafka.bootstrapServers(), nowMillis);
    finder =
        new KafkaCallFinder(
            KafkaConnection.to(kafka.bootstrapServers()),
            "n1",
            SearchedLog.PARTITIONS,
            HORIZON,
            64,
            () -> nowMillis,
            new KafkaCallFinder.SearchTimes(Await.TIMEOUT, Await.TIMEOUT),
            () -> budgetNanos.getAsLong());
  }

  @AfterEach
  void stop() {
    threads.shutdown();
    finder.close();
    log.close();
    kafka.close();
  }

  /** Regression: an older batch of the journal made this "not sent yet", for ever. */
  @Test
  void deniedCall_withItsPosition_isFoundAsDenied() throws Exception {
    log.call("acme", "first", true, nowMillis - 5 * MINUTE);
    UsagePosition denied = log.call("acme", "denied", false, nowMillis - 10_000);

    assertFalse(found(find("acme", "denied", denied)).call().allowed());
    assertFalse(found(find("acme", "denied", null)).call().allowed());
  }

  /** The same, if the first part that was read was the one of the id's time. */
  @Test
  void callNewerThanTheTimeInItsId_isFound() throws Exception {
    String id = SearchedLog.idOf(nowMillis - 20 * MINUTE);
    log.call("acme", "first", true, nowMillis - 20 * MINUTE);
    UsagePosition second = log.call("acme", id, true, nowMillis - 5 * MINUTE);

    assertEquals(second, found(find("acme", id, second)).position());
    assertEquals(second, found(find("acme", id, null)).position());
  }

  @Test
  void fourSearchesForUnknownIds_doNotDelayOtherClients() throws Exception {
    log.fill(LONG_LOG / 2, nowMillis - 25 * MINUTE, nowMillis - 3 * MINUTE);
    UsagePosition position = log.call("acme", "mine", true, nowMillis - 3 * MINUTE);
    log.fill(LONG_LOG / 2, nowMillis - 3 * MINUTE, nowMillis - MINUTE);

    List<CompletableFuture<Finding>> bogus = findBogus(4);
    Await.until(
        "the stranger's searches to be under way",
        () -> finder.underWay() == 4 || bogus.stream().allMatch(CompletableFuture::isDone));
    assertEquals(position, found(find("acme", "mine", position)).position());
    for (CompletableFuture<Finding> one : bogus) {
      assertInstanceOf(NotFound.class, one.join());
    }
  }

  @Test
  void search_withPosition_readsABoundedPart_howeverLongTheLog() throws Exception {
    log.fill(LONG_LOG / 2, nowMillis - 25 * MINUTE, nowMillis - 15 * MINUTE);
    long at = nowMillis - 15 * MINUTE;
    String id = SearchedLog.idOf(at - 20);
    UsagePosition ours = log.call("acme", id, true, at);
    UsagePosition callers = log.call("acme", "mine", true, at);
    log.fill(LONG_LOG / 2, at, nowMillis);

    assertEquals(ours, found(find("acme", id, ours)).position());
    assertTrue(finder.bytesRead() < 2 << 20, () -> "read " + finder.bytesRead());
    long before = finder.bytesRead();
    assertEquals(callers, found(find("acme", "mine", callers)).position());
    long read = finder.bytesRead() - before;
    assertTrue(read < 16 << 20, () -> "read " + read + " of " + LONG_LOG / 2 + " MiB");
  }

  @Test
  void searchForAnUnknownId_readsABoundedPart_andCostsOtherClientsNothing() throws Exception {
    log.fill(LONG_LOG, nowMillis - 25 * MINUTE, nowMillis - MINUTE);
    UsagePosition mine = log.call("acme", "mine", true, nowMillis - 30_000);

    NotFound not = assertInstanceOf(NotFound.class, find("stranger", "bogus", null));
    assertTrue(not.fromEpochMillis() > nowMillis - HORIZON.toMillis(), "it says how far it looked");
    long most = KafkaCallFinder.MAX_SEARCH_BYTES + LogConsumers.SLICE_BYTES + (512 << 10);
    assertTrue(finder.bytesRead() <= most, () -> "read " + finder.bytesRead());

    stopCreditingBack();
    Await.until(
        "searches for the stranger to be refused",
        () ->
            findBogus(8).stream()
                .map(CompletableFuture::join)
                .anyMatch(Exhausted.class::isInstance));
    assertEquals(mine, found(find("acme", "mine", null)).position());
  }

  /**
   * Regression: such a search reported a call as not recorded though it had not searched for it.
   */
  @Test
  @FullSuite(reason = "reads hundreds of MiB; the test of the budget for other clients always runs")
  void searchCutShort_byTheClientsReadBudget_isReportedAsExhausted() throws Exception {
    log.fill(LONG_LOG, nowMillis - 25 * MINUTE, nowMillis - MINUTE);
    NotFound whole = assertInstanceOf(NotFound.class, find("acme", "bogus", null));

    stopCreditingBack();
    Await.until(
        "a search to be cut short",
        () -> {
          List<Finding> findings = findBogus(12).stream().map(CompletableFuture::join).toList();
          for (Finding finding : findings) {
            assertFalse(finding instanceof NotFound && !finding.equals(whole), finding::toString);
          }
          return findings.stream().anyMatch(Exhausted.class::isInstance);
        });
  }

  @Test
  void positionOfAnotherCallOrUnknownJournal_isIgnored() throws Exception {
    UsagePosition first = log.call("acme", "first", true, nowMillis - 5 * MINUTE);
    UsagePosition second = log.call("acme", "second", true, nowMillis - 4 * MINUTE);

    assertEquals(second, found(find("acme", "second", first)).position());
    assertEquals(
        second, found(find("acme", "second", new UsagePosition(0, "nobody", 1, 7))).position());
    assertInstanceOf(NotFound.class, find("acme", "third", first));
    assertInstanceOf(NotFound.class, find("other", "second", second));
  }

  @Test
  void lineNotYetSentByItsJournal_isUnknown() throws Exception {
    log.call("acme", "first", true, nowMillis - 5 * MINUTE);

    assertInstanceOf(Unavailable.class, find("acme", "second", log.position(0, 2)));
  }

  /** From now on a client may read only so much in total, however long that takes. */
  private void stopCreditingBack() {
    long now = System.nanoTime();
    budgetNanos = () -> now;
  }

  /** Begins the same number of searches of another client for ids that do not exist. */
  private List<CompletableFuture<Finding>> findBogus(int count) {
    List<CompletableFuture<Finding>> begun = new ArrayList<>();
    for (int i = 0; i < count; i++) {
      String id = "bogus-" + i;
      begun.add(CompletableFuture.supplyAsync(() -> find("stranger", id, null), threads));
    }
    return begun;
  }

  private Finding find(String client, String id, @Nullable UsagePosition position) {
    return finder.find(new CallQuery(client, id, position));
  }

  private static Found found(Finding finding) {
    return assertInstanceOf(Found.class, finding);
  }
}
