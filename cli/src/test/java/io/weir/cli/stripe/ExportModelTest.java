// SPDX-License-Identifier: Apache-2.0
package io.weir.cli.stripe;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.cli.console.CommandFailedException;
import io.weir.testing.SuiteForm;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageRow;
import io.weir.topics.wire.LedgerRowCodec;
import io.weir.topics.wire.MalformedRecordException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.time.Clock;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.LongStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Kills an export at any moment, even during a write, and restarts the export sooner or much later.
 * Meanwhile Stripe fails in every way and forgets identifiers after 24 hours, the aggregator counts
 * again, rows age, and the mapping changes. No row may be billed twice, and each row must be billed
 * or kept.
 */
final class ExportModelTest {
  private static final Instant BEGIN = Instant.parse("2026-11-01T00:00:00Z");
  private static final Duration FORGETS = Duration.ofHours(24);
  private static final int MAX_ROWS = 250;

  private static final List<String> MAPPINGS =
      List.of(
          "{customers: {client0: c0, client1: c1, client2: c2}, meters: {calls: api}}",
          "{customers: {client0: c0, client2: c2}, meters: {calls: api}}",
          "{customers: {client1: c1, client2: c2}, meters: {calls: api}}",
          "{customers: {client0: c0, client1: c1, client2: c2}, meters: {bytes: api}}");

  @TempDir private Path folder;
  private final HandSetClock clock = new HandSetClock();
  private final List<LedgerRow> topic = new ArrayList<>();
  private final Map<String, Long> exportable = new TreeMap<>();
  private Random random = new Random();
  private String mapping = MAPPINGS.get(0);
  private final Set<String> reasons = new TreeSet<>();
  private boolean acceptsGap;

  /** Each identifier's value, and when Stripe took it first. */
  private final Map<String, Long> billed = new TreeMap<>();

  private final Map<String, Instant> takenAt = new HashMap<>();

  private static final class Killed extends RuntimeException {
    private static final long serialVersionUID = 1L;
  }

  private static final class HandSetClock extends Clock {
    private Instant now = BEGIN;

    @Override
    public Instant instant() {
      return now;
    }

    @Override
    public ZoneId getZone() {
      return ZoneOffset.UTC;
    }

    @Override
    public Clock withZone(ZoneId zone) {
      return this;
    }
  }

  /** Stripe, which may fail before it takes an event, or behind. */
  private synchronized Stripe.Answer take(MeterEvent event) {
    int chance = random.nextInt(60);
    if (chance == 0) {
      throw new Killed();
    }
    if (chance == 1) {
      return new Stripe.NoAnswer("cannot be reached", false);
    }
    Instant first = takenAt.get(event.identifier());
    boolean isKnown = first != null && clock.now.isBefore(first.plus(FORGETS));
    if (!isKnown) {
      assertTrue(
          billed.put(event.identifier(), event.value()) == null,
          () -> event + " is billed twice, first at " + first + ", now at " + clock.now);
      takenAt.put(event.identifier(), clock.now);
    }
    if (chance == 2) {
      throw new Killed();
    }
    if (chance == 3) {
      return new Stripe.NoAnswer("broken off", true);
    }
    return new Stripe.Accepted(isKnown);
  }

  static LongStream seeds() {
    return LongStream.rangeClosed(1, SuiteForm.isFull() ? 12 : 4);
  }

  @ParameterizedTest
  @MethodSource("seeds")
  void killedAtAnyMoment_everyRowIsBilledOnceOrKept(long seed) throws Exception {
    random = new Random(seed);
    for (int window = 0; window < 30; window++) {
      writeWindow(BEGIN.plus(LedgerOfCalls.WINDOW.multipliedBy(window)));
      if (topic.size() < MAX_ROWS && random.nextInt(8) == 0) {
        topic.addAll(List.copyOf(topic)); // the aggregator counts again
      }
      run();
      clock.now = clock.now.plus(Duration.ofMinutes(random.nextInt(20) == 0 ? 1_500 : 15));
    }
    while (!run()) {
      clock.now = clock.now.plus(Duration.ofMinutes(1));
    }

    assertEachRowIsBilledOrKept("seed " + seed);
    assertTrue(Set.of("UNCERTAIN").containsAll(reasons), reasons::toString);
    assertTrue(
        billed.size() > exportable.size() / 2, () -> "seed " + seed + " billed " + billed.size());
  }

  /** A row that Stripe may have is kept as UNCERTAIN, whatever else keeps it by now. */
  @ParameterizedTest
  @MethodSource("seeds")
  void rowsAgeAndTheMappingChanges_noneThatStripeHasIsKeptForAnotherReason(long seed)
      throws Exception {
    random = new Random(seed);
    clock.now = BEGIN.plus(Duration.ofDays(35)).minus(Duration.ofMinutes(20));
    for (int window = 0; window < 30; window++) {
      writeWindow(BEGIN.plus(LedgerOfCalls.WINDOW.multipliedBy(window)));
      clock.now = clock.now.plus(Duration.ofMinutes(random.nextInt(30)));
      mapping = MAPPINGS.get(random.nextInt(MAPPINGS.size()));
      run();
    }
    while (!run()) {
      clock.now = clock.now.plus(Duration.ofMinutes(random.nextInt(120)));
      mapping = MAPPINGS.get(random.nextInt(MAPPINGS.size()));
    }

    assertEachRowIsBilledOrKept("seed " + seed);
    assertTrue(billed.size() > 10 && reasons.size() > 2, () -> "seed " + seed + reasons);
  }

  /** Rows that Stripe may have are sent from the file of kept rows only with confirmation. */
  @ParameterizedTest
  @ValueSource(longs = {41, 42, 43})
  void keptRowsAreSent_uncertainOnesOnlyOnDemand(long seed) throws Exception {
    random = new Random(seed);
    UsageRow row = LedgerOfCalls.row("client0", "GET /", BEGIN, 7);
    Path path = folder.resolve("state");
    try (ExportState state = ExportState.open(path, false, "c", BEGIN, clock.now)) {
      state.begin(List.of(row.recordId()), clock.now); // and killed
    }
    add(row);
    clock.now = clock.now.plus(Duration.ofHours(25));
    while (!run()) {
      clock.now = clock.now.plus(Duration.ofMinutes(1));
    }
    assertEachRowIsBilledOrKept("seed " + seed);
    assertEquals(Set.of("UNCERTAIN"), reasons);

    sendKept(false);
    assertEquals(Map.of(), billed);
    assertEquals(1, keptLines().size(), "it is kept again");
    for (int i = 0; i < 20; i++) {
      sendKept(true);
    }
    assertEquals(exportable, billed);
  }

  @Test
  void recreatedTopic_isAnError() throws Exception {
    StripeExport.requireSameTopic(Map.of(0, 5L), Map.of(0, 5L, 1, 0L));
    CommandFailedException failed =
        assertThrows(
            CommandFailedException.class,
            () -> StripeExport.requireSameTopic(Map.of(0, 5L), Map.of(0, 4L)));
    assertTrue(String.valueOf(failed.getMessage()).contains("recreated"), failed::toString);
  }

  /** Regression: the export stopped permanently at a record that is not a ledger row. */
  @Test
  void recordThatIsNoRow_isSkipped_named_andTheNextOneIsExported() throws Exception {
    add(LedgerOfCalls.row("client0", "GET /", BEGIN, 7));
    List<ConsumerRecord<@Nullable String, byte @Nullable []>> records = new ArrayList<>();
    for (String value : List.of("", "{", "[]", "{\"schema_version\":1}", "7")) {
      byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
      records.add(new ConsumerRecord<>("ledger", 0, records.size(), null, bytes));
    }
    records.add(new ConsumerRecord<>("ledger", 0, 5, null, LedgerRowCodec.encode(topic.get(0))));
    ExportReport report = silentReport();
    try (ExportState state =
            ExportState.open(folder.resolve("state"), false, "c", BEGIN, clock.now);
        EventSender sender = new EventSender(this::takeWell, state, 1)) {
      exporter(state, sender, report).exportRecords(records);
      assertEquals(Map.of(0, 6L), state.next());
    }

    assertEquals(exportable, billed);
    assertEquals(5, report.skipped());
    assertTrue(report.summary().contains("skipped 5 records"), report.summary());
  }

  /** Regression: the warning said "not a ledger row" twice. */
  @ParameterizedTest
  @ValueSource(strings = {"{}", "[]", "{", "{\"schema_version\":1}"})
  void recordThatIsNoRow_isCalledSoOnce(String value) {
    MalformedRecordException wrong =
        assertThrows(
            MalformedRecordException.class,
            () -> ExportedRow.of(value.getBytes(StandardCharsets.UTF_8), "ledger-0@7"));

    String message = String.valueOf(wrong.getMessage());
    assertEquals(0, message.lastIndexOf("not a ledger row: "), message);
  }

  /** A row of an unknown version is not skipped, since it would be missing in the bill. */
  @Test
  void rowOfALaterVersion_stopsTheExport() {
    byte[] later = "{\"schema_version\":3}".getBytes(StandardCharsets.UTF_8);
    assertThrows(CommandFailedException.class, () -> ExportedRow.of(later, "ledger-0@7"));
  }

  /** Regression: rows below the last offset of the previous topic were skipped. */
  @Test
  void topicThatWasRecreated_isReadFromItsBeginning_alsoAfterARestart() throws Exception {
    Path path = folder.resolve("state");
    try (ExportState state = ExportState.open(path, false, "c", BEGIN, clock.now)) {
      assertFalse(state.ofTopic("first", 1));
      state.read(0, 40);
      state.commit();
      assertFalse(state.ofTopic("first", 1));
    }
    try (ExportState state = ExportState.open(path, false, "c", BEGIN, clock.now)) {
      assertEquals(Map.of(0, 40L), state.next());
      assertTrue(state.ofTopic("second", 1));
      assertEquals(Map.of(0, 0L), state.next());
    }
    try (ExportState state = ExportState.open(path, false, "c", BEGIN, clock.now)) {
      assertFalse(state.ofTopic("second", 1));
      assertEquals(Map.of(0, 0L), state.next());
    }
  }

  /**
   * Regression: the second start took the topic, and sent its rows under other partitions again.
   */
  @Test
  void topicThatWasRecreatedWithOtherPartitions_isRefused_alsoAtTheNextStart() throws Exception {
    Path path = folder.resolve("state");
    try (ExportState state = ExportState.open(path, false, "c", BEGIN, clock.now)) {
      state.ofTopic("first", 2);
      state.read(1, 40);
      state.commit();
    }
    for (int start = 0; start < 2; start++) {
      for (int partitions : List.of(1, 3)) {
        try (ExportState state = ExportState.open(path, false, "c", BEGIN, clock.now)) {
          assertThrows(CommandFailedException.class, () -> state.ofTopic("second", partitions));
          assertEquals(Map.of(1, 40L), state.next());
        }
      }
    }
  }

  /** Regression: rows that only the lost topic had were not billed, and nothing was reported. */
  @Test
  void topicThatWasRecreatedWithoutTheNextRows_isRefused_untilTheGapIsAccepted() throws Exception {
    Instant next = BEGIN.plus(LedgerOfCalls.WINDOW);
    topic.add(LedgerOfCalls.row("client0", "GET /", BEGIN, 7));
    topic.add(LedgerOfCalls.close(next));
    exportTopic("first");
    topic.clear(); // with the row of the next window
    UsageRow later = LedgerOfCalls.row("client0", "GET /", next.plus(LedgerOfCalls.WINDOW), 9);
    topic.add(later);
    topic.add(LedgerOfCalls.close(next.plus(LedgerOfCalls.WINDOW.multipliedBy(2))));

    for (int start = 0; start < 2; start++) {
      CommandFailedException refused =
          assertThrows(CommandFailedException.class, () -> exportTopic("second"));
      assertTrue(String.valueOf(refused.getMessage()).contains("rows may be missing"));
    }
    assertEquals(1, billed.size());
    acceptsGap = true;
    exportTopic("second");
    acceptsGap = false;
    exportTopic("second");
    assertEquals(Set.of(topicId(BEGIN), later.recordId()), billed.keySet());
  }

  /** Regression: the gap rule knew only partitions with a CLOSE row. */
  @Test
  void topicThatWasRecreatedBeforeItsFirstClose_isRefusedUnlessTheExportedRowsPrecedeIt()
      throws Exception {
    UsageRow exported = LedgerOfCalls.row("client0", "GET /", BEGIN, 7);
    LedgerRow close = LedgerOfCalls.close(BEGIN.plus(LedgerOfCalls.WINDOW));
    topic.add(exported);
    exportTopic("first");
    UsageRow other = LedgerOfCalls.row("client1", "GET /", BEGIN, 9);
    topic.set(0, other); // the rest of the window; the aggregator was not reset
    topic.add(close);

    for (int start = 0; start < 2; start++) {
      CommandFailedException refused =
          assertThrows(CommandFailedException.class, () -> exportTopic("second"));
      assertTrue(String.valueOf(refused.getMessage()).contains("but 1 exported rows"));
    }
    topic.clear();
    topic.addAll(List.of(exported, other));
    exportTopic("third");
    topic.add(close);
    exportTopic("third");
    assertEquals(Set.of(exported.recordId(), other.recordId()), billed.keySet());
  }

  /**
   * Regression: with --since an empty file was taken for a new one, and all rows were sent again.
   */
  @ParameterizedTest
  @ValueSource(strings = {"", "\n", "{\"stripe_exp", "\u0000\u0000", "[]\n"})
  void stateFileWithoutItsFirstLine_isRefused(String text) throws Exception {
    Path path = folder.resolve("state");
    Files.writeString(path, text);
    CommandFailedException refused =
        assertThrows(CommandFailedException.class, () -> exportTopic("first"));
    assertTrue(String.valueOf(refused.getMessage()).contains("restore it from a copy"));
    assertEquals(text, Files.readString(path));
  }

  /** Regression: in the last line such a member was ignored, and its rows were sent again. */
  @ParameterizedTest
  @ValueSource(strings = {"{\"end\":{\"next\":{\"0\":1},\"refunds\":[]}}", "{\"refunds\":{}}"})
  void stateFileWithAnUnknownMember_isRefused_alsoInTheLastLine(String line) throws Exception {
    exportTopic("first");
    Path path = folder.resolve("state");
    String before = Files.readString(path);
    for (String end : List.of("", "\n", "\n{\"begin\":{}}\n")) {
      Files.writeString(path, before + line + end);
      CommandFailedException refused =
          assertThrows(CommandFailedException.class, () -> exportTopic("first"));
      assertTrue(
          String.valueOf(refused.getMessage()).contains("has the member 'refunds'"),
          refused::toString);
      assertEquals(before + line + end, Files.readString(path));
    }
  }

  @Test
  void killedBetweenWriteAndRename_theOldFileIsUsed() throws Exception {
    add(LedgerOfCalls.row("client0", "GET /", BEGIN, 7));
    exportTopic("first");
    Files.writeString(folder.resolve("state.new"), "{\"stripe_export\":1,\"clus");

    exportTopic("first");

    assertEquals(exportable, billed);
  }

  /** Regression: the next row was appended to the half line, and --rows refused the file. */
  @Test
  void killedWhileARowWasKept_fileCanBeReadAndAppendedTo() throws Exception {
    mapping = MAPPINGS.get(1);
    add(LedgerOfCalls.row("client1", "GET /\u00e9", BEGIN, 7));
    exportTopic("first");
    Path kept = folder.resolve("kept");
    byte[] line = Files.readAllBytes(kept);
    for (int written = 1; written < line.length - 1; written++) {
      Files.write(kept, line);
      Files.write(kept, Arrays.copyOf(line, written), StandardOpenOption.APPEND);
      assertEquals(1, KeptRows.read(kept).size());
    }

    add(LedgerOfCalls.row("client1", "GET /2", BEGIN, 8));
    exportTopic("first");

    assertEquals(2, KeptRows.read(kept).size());
    mapping = MAPPINGS.get(0);
    sendKept(false);
    assertEquals(exportable, billed);
  }

  /**
   * Regression: a batch of other rows ended the keeping of a row whose batch was killed. The topic
   * and --rows then both sent the row.
   */
  @Test
  void killedBeforeAKeptRowIsCompleted_batchOfAnotherPartition_rowIsBilledOnce() throws Exception {
    keepAndKill();
    add(LedgerOfCalls.row("client0", "GET /", BEGIN, 8));
    byte[] other = LedgerRowCodec.encode(topic.get(1));
    exportBatch(List.of(new ConsumerRecord<>("ledger", 1, 0, null, other)));
    mapping = MAPPINGS.get(0);

    exportBatch(records(0, 1));
    sendKept(false);

    assertEquals(exportable, billed);
  }

  /** Regression: --rows sent the row, and then the topic sent the row again. */
  @Test
  void killedBeforeAKeptRowIsCompleted_rowsAreSentFirst_rowIsBilledOnce() throws Exception {
    keepAndKill();
    mapping = MAPPINGS.get(0);

    sendKept(false);
    exportBatch(records(0, 1));
    sendKept(false);

    assertEquals(exportable, billed);
  }

  /**
   * Regression: --rows kept the row again, and then the topic sent the row, as --rows did later.
   */
  @Test
  void killedBeforeAKeptRowIsCompleted_rowsAreKeptFirst_rowIsBilledOnce() throws Exception {
    keepAndKill();

    sendKept(false);
    mapping = MAPPINGS.get(0);
    exportBatch(records(0, 1));
    sendKept(false);

    assertEquals(exportable, billed);
  }

  /**
   * Regression: --rows sent the row and broke off, the topic completed it, --rows sent it again.
   */
  @Test
  void killedBeforeKeptRowsAreCompleted_rowsBreakOff_eachRowIsBilledOnce() throws Exception {
    add(LedgerOfCalls.row("client1", "GET /2", BEGIN, 8));
    keepAndKill();
    mapping = MAPPINGS.get(0);
    Path rows = Files.move(folder.resolve("kept"), folder.resolve("rows"));
    Stripe takesOne =
        event -> billed.isEmpty() ? takeWell(event) : new Stripe.NoAnswer("broken off", false);
    assertThrows(CommandFailedException.class, () -> sendRows(rows, false, takesOne));
    assertEquals(1, billed.size());

    exportBatch(records(0, 2));
    sendRows(rows, false, this::takeWell);
    sendKept(false);

    assertEquals(exportable, billed);
  }

  /** Keeps rows of a client without a customer; the process is killed before the batch ends. */
  private void keepAndKill() throws IOException {
    mapping = MAPPINGS.get(1);
    add(LedgerOfCalls.row("client1", "GET /", BEGIN, 7));
    exportBatch(records(0, topic.size()));
    cutOffTheLastLine(folder.resolve("state"));
    assertEquals(topic.size(), keptLines().size());
  }

  private void exportBatch(List<ConsumerRecord<@Nullable String, byte @Nullable []>> records) {
    try (ExportState state =
            ExportState.open(folder.resolve("state"), false, "c", BEGIN, clock.now);
        EventSender sender = new EventSender(this::takeWell, state, 1)) {
      exporter(state, sender).exportRecords(records);
    }
  }

  /** An aggregator that was reset writes all windows again, so no row is missing. */
  @Test
  void topicThatWasRecreatedAndWrittenAgain_everyRowIsBilledOnce() throws Exception {
    for (int window = 0; window < 4; window++) {
      Instant start = BEGIN.plus(LedgerOfCalls.WINDOW.multipliedBy(window));
      add(LedgerOfCalls.row("client0", "GET /", start, 7));
      add(LedgerOfCalls.row("client0", "GET /", start, 2, 2, start.plus(LedgerOfCalls.WINDOW)));
      topic.add(LedgerOfCalls.close(start.plus(LedgerOfCalls.WINDOW)));
    }
    List<LedgerRow> all = List.copyOf(topic);
    topic.subList(5, topic.size()).clear();
    exportTopic("first");
    topic.clear();
    topic.addAll(all);

    exportTopic("second");
    exportTopic("second");

    assertEquals(exportable, billed);
  }

  /** Regression: a reset aggregator that reads older calls led to a second event of a row. */
  @Test
  void adjustmentWhoseIdIsForgotten_isKeptAsUncertain_andNotBilledAgain() throws Exception {
    clock.now = BEGIN.plus(Duration.ofDays(1));
    add(LedgerOfCalls.row("client0", "GET /", BEGIN, 3, 2, clock.now));
    exportTopic("first");
    clock.now = BEGIN.plus(ExportState.MEMORY).plus(Duration.ofDays(1));
    topic.set(0, LedgerOfCalls.row("client0", "GET /", BEGIN, 3, 2, clock.now));

    exportTopic("second");

    assertEquals(exportable, billed);
    assertEquals("UNCERTAIN", keptLines().get(0).path("reason").asText());
    billed.clear(); // a person has looked: Stripe does not have it
    sendKept(true);
    assertEquals(exportable, billed);
  }

  private static String topicId(Instant start) {
    return LedgerOfCalls.row("client0", "GET /", start, 7).recordId();
  }

  private void exportTopic(String id) {
    try (ExportState state =
            ExportState.open(folder.resolve("state"), false, "c", BEGIN, clock.now);
        EventSender sender = new EventSender(this::takeWell, state, 1)) {
      state.ofTopic(id, 1);
      StripeExport exporter = exporter(state, sender);
      if (next(state) < topic.size()) {
        exporter.exportRecords(records(next(state), topic.size()));
      }
    }
  }

  @Test
  void eventThatStripeHadThoughItWasNeverTried_isWarnedOf() throws Exception {
    add(LedgerOfCalls.row("client0", "GET /", BEGIN, 7));
    ExportReport report = silentReport();
    try (ExportState state =
            ExportState.open(folder.resolve("state"), false, "c", BEGIN, clock.now);
        EventSender sender = new EventSender(event -> new Stripe.Accepted(true), state, 1)) {
      exporter(state, sender, report).exportRecords(records(0, 1));
    }
    assertTrue(report.warning().startsWith("WARNING: 1 event "), report::warning);
  }

  private void sendKept(boolean resendsUncertain) throws IOException {
    Path again = folder.resolve("again");
    if (Files.exists(folder.resolve("kept"))) {
      Files.move(folder.resolve("kept"), again, StandardCopyOption.REPLACE_EXISTING);
    }
    sendRows(again, resendsUncertain, this::takeWell);
  }

  private void sendRows(Path rows, boolean resendsUncertain, Stripe stripe) {
    try (ExportState state =
            ExportState.open(folder.resolve("state"), false, "c", BEGIN, clock.now);
        EventSender sender = new EventSender(stripe, state, 1)) {
      exporter(state, sender).exportKept(rows, resendsUncertain, (what, done, total) -> {});
    }
  }

  private Stripe.Answer takeWell(MeterEvent event) {
    assertTrue(billed.put(event.identifier(), event.value()) == null, "billed twice");
    return new Stripe.Accepted(false);
  }

  private void assertEachRowIsBilledOrKept(String seed) throws IOException {
    Map<String, Long> found = new TreeMap<>(billed);
    for (JsonNode kept : keptLines()) {
      String id = kept.path("row").path("record_id").asText();
      String reason = kept.path("reason").asText();
      reasons.add(reason);
      assertTrue(
          reason.equals("UNCERTAIN") || !billed.containsKey(id),
          () -> seed + ": Stripe has " + kept);
      found.putIfAbsent(id, kept.path("row").path("quantity").asLong());
    }
    assertEquals(exportable, found, seed);
  }

  private List<JsonNode> keptLines() throws IOException {
    List<JsonNode> lines = new ArrayList<>();
    Path kept = folder.resolve("kept");
    for (String line : Files.exists(kept) ? Files.readAllLines(kept) : List.<String>of()) {
      lines.add(new ObjectMapper().readTree(line));
    }
    return lines;
  }

  private void writeWindow(Instant start) {
    for (int i = 0; i < 6; i++) {
      add(LedgerOfCalls.row("client" + i % 3, "GET /" + i, start, 1 + random.nextInt(9)));
      if (random.nextInt(4) == 0) {
        add(LedgerOfCalls.row("client0", "GET /" + i, start, 3, 2 + random.nextInt(50), clock.now));
      }
    }
    topic.add(LedgerOfCalls.close(start.plus(LedgerOfCalls.WINDOW)));
  }

  private void add(UsageRow row) {
    topic.add(row);
    exportable.put(row.recordId(), row.count().quantity());
  }

  /** Runs the export as a process that may be killed; returns whether it came to the end. */
  private boolean run() throws IOException {
    Path path = folder.resolve("state");
    try (ExportState state = ExportState.open(path, false, "c", BEGIN, clock.now);
        EventSender sender = new EventSender(this::take, state, 1)) {
      StripeExport exporter = exporter(state, sender);
      for (int from = next(state); from < topic.size(); from = next(state)) {
        exporter.exportRecords(records(from, Math.min(topic.size(), from + 7)));
        if (random.nextInt(30) == 0) {
          cutOffTheLastLine(path);
          return false;
        }
      }
      return true;
    } catch (CommandFailedException failed) {
      return false;
    } catch (IllegalStateException killed) {
      assertTrue(String.valueOf(killed.getCause()).contains("Killed"), killed::toString);
      return false;
    }
  }

  private StripeExport exporter(ExportState state, EventSender sender) {
    return exporter(state, sender, silentReport());
  }

  private StripeExport exporter(ExportState state, EventSender sender, ExportReport report) {
    return new StripeExport(
        state, sender, Mapping.parse(mapping), clock, folder.resolve("kept"), acceptsGap, report);
  }

  private static ExportReport silentReport() {
    return new ExportReport(false, line -> {}, warning -> {});
  }

  private static int next(ExportState state) {
    return state.next().getOrDefault(0, 0L).intValue();
  }

  private List<ConsumerRecord<@Nullable String, byte @Nullable []>> records(int from, int to) {
    List<ConsumerRecord<@Nullable String, byte @Nullable []>> records = new ArrayList<>();
    for (int offset = from; offset < to; offset++) {
      byte[] value = LedgerRowCodec.encode(topic.get(offset));
      records.add(new ConsumerRecord<>("ledger", 0, offset, null, value));
    }
    return records;
  }

  /** The process is killed while it writes the end of a batch. */
  private void cutOffTheLastLine(Path path) throws IOException {
    String text = Files.readString(path);
    int line = text.lastIndexOf('\n', text.length() - 2) + 1;
    Files.writeString(path, text.substring(0, line + random.nextInt(text.length() - line)));
  }
}
