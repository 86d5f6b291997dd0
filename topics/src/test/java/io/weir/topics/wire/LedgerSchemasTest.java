// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.networknt.schema.JsonSchema;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import io.weir.limits.BillingPeriod;
import io.weir.topics.model.CallEvent;
import io.weir.topics.model.CloseRow;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageState;
import io.weir.topics.model.UsageWindow;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/**
 * Tests that the three schemas of the ledger agree. {@code ledger-row.json} is compared with the
 * rows that the codec writes. The Kafka Connect form and the SQL table are compared with {@code
 * ledger-row.json}. A member that is added in only one place fails this test.
 */
final class LedgerSchemasTest {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String SCHEMAS = "/io/weir/topics/schema/";
  private static final long SEED = 17;
  private static final int RECORDS = 2_000;
  private static final UsageWindow WINDOW = new UsageWindow(1_763_690_400_000L, 1_763_691_300_000L);

  private static final Pattern COLUMN =
      Pattern.compile("(?m)^  \"?([a-z_]+)\"? (bigint|text|boolean)( NOT NULL)?( PRIMARY KEY)?,$");
  private static final Pattern PRESENT = Pattern.compile("\"?([a-z_]+)\"? IS NOT NULL");

  /** The properties of a member. */
  private record Member(String type, boolean isRequired) {}

  private final Random random = new Random(SEED);

  /** Maximum of a random figure. */
  private long most = Long.MAX_VALUE;

  @Test
  void rows_followTheSchema_whichHasNoMemberThatIsNeverWritten() throws Exception {
    JsonNode schema = schema("ledger-row.json");
    JsonSchema validator = validator(schema);
    Map<String, Set<String>> written = new TreeMap<>();
    for (int i = 0; i < RECORDS; i++) {
      JsonNode row = JSON.readTree(LedgerRowCodec.encode(row()));
      assertEquals(Set.of(), validator.validate(row), row::toString);
      row.fieldNames()
          .forEachRemaining(
              written.computeIfAbsent(row.path("record_type").asText(), type -> new TreeSet<>())
                  ::add);
    }

    Map<String, Set<String>> named = new TreeMap<>();
    for (JsonNode variant : schema.path("oneOf")) {
      named.put(variant.path("title").asText(), names(variant.path("properties")));
    }
    assertEquals(named, written);
  }

  @Test
  void states_followTheSchema_whichHasNoMemberThatIsNeverWritten() throws Exception {
    most = CallEvent.MAX_QUANTITY;
    JsonNode schema = schema("usage-state.json");
    JsonSchema validator = validator(schema);
    Set<String> written = new TreeSet<>();
    for (int i = 0; i < RECORDS; i++) {
      JsonNode state = JSON.readTree(UsageStateCodec.encode(state()));
      assertEquals(Set.of(), validator.validate(state), state::toString);
      state.fieldNames().forEachRemaining(written::add);
    }

    assertEquals(names(schema.path("properties")), written);
  }

  @Test
  void connectForm_hasTheMembersOfTheSchema() throws Exception {
    JsonNode struct = schema("ledger-row.connect.json");
    assertEquals("struct", struct.path("type").asText());
    assertFalse(struct.path("optional").asBoolean(true));
    Map<String, Member> members = new TreeMap<>();
    for (JsonNode field : struct.path("fields")) {
      String type = field.path("type").asText().replace("int64", "integer");
      Member member = new Member(type, !field.path("optional").asBoolean());
      assertEquals(null, members.put(field.path("field").asText(), member), field::toString);
    }

    assertEquals(members(), members);
  }

  @Test
  void table_hasTheMembersOfTheSchema() throws Exception {
    String sql = text("ledger.sql");
    Map<String, Member> members = new TreeMap<>();
    Matcher column = COLUMN.matcher(sql.substring(0, sql.indexOf("CONSTRAINT")));
    while (column.find()) {
      String type = column.group(2).replace("bigint", "integer").replace("text", "string");
      members.put(column.group(1), new Member(type, column.group(3) != null));
    }

    assertEquals(members(), members);
  }

  /**
   * The trigger must name all columns. Otherwise a row that is written again could change a column.
   */
  @Test
  void trigger_comparesEveryMember() throws Exception {
    String sql = text("ledger.sql");
    for (String record : List.of("NEW", "OLD")) {
      Set<String> compared = new TreeSet<>();
      Matcher named = Pattern.compile(record + "\\.\"?([a-z_]+)\"?(?=,|\\s+\\))").matcher(sql);
      while (named.find()) {
        compared.add(named.group(1));
      }
      assertEquals(members().keySet(), compared, record);
    }
  }

  /** The required members of each kind of row are also constraints of the table. */
  @Test
  void constraints_askForTheMembersThatTheKindsOfRowsRequire() throws Exception {
    String sql = text("ledger.sql");
    Set<String> always = new TreeSet<>();
    members()
        .forEach((name, member) -> always.addAll(member.isRequired() ? Set.of(name) : Set.of()));

    assertEquals(without(required("FINAL"), always), present(sql, "weir_ledger_usage"));
    Set<String> ofAdjustments = present(sql, "weir_ledger_usage");
    ofAdjustments.addAll(present(sql, "weir_ledger_reason"));
    assertEquals(without(required("ADJUSTMENT"), always), ofAdjustments);
    assertEquals(without(required("CLOSE"), always), present(sql, "weir_ledger_close"));
  }

  private static Set<String> present(String sql, String constraint) {
    Set<String> present = new TreeSet<>();
    String from = sql.substring(sql.indexOf("CONSTRAINT " + constraint));
    int end = from.indexOf("CONSTRAINT", 1);
    Matcher column = PRESENT.matcher(end < 0 ? from : from.substring(0, end));
    while (column.find()) {
      present.add(column.group(1));
    }
    return present;
  }

  private static Set<String> required(String kind) throws IOException {
    Set<String> required = new TreeSet<>();
    for (JsonNode variant : schema("ledger-row.json").path("oneOf")) {
      if (variant.path("title").asText().equals(kind)) {
        variant.path("required").forEach(name -> required.add(name.asText()));
      }
    }
    return required;
  }

  private static Set<String> without(Set<String> all, Set<String> left) {
    Set<String> rest = new TreeSet<>(all);
    rest.removeAll(left);
    return rest;
  }

  /** Returns the members of all kinds of rows. A member is required if every kind requires it. */
  private static Map<String, Member> members() throws IOException {
    Map<String, Integer> requiredBy = new HashMap<>();
    Map<String, String> types = new TreeMap<>();
    JsonNode variants = schema("ledger-row.json").path("oneOf");
    for (JsonNode variant : variants) {
      variant.path("required").forEach(name -> requiredBy.merge(name.asText(), 1, Integer::sum));
      for (Map.Entry<String, JsonNode> property : variant.path("properties").properties()) {
        String type = type(property.getValue());
        String before = types.put(property.getKey(), type);
        assertTrue(before == null || before.equals(type), property::toString);
      }
    }
    Map<String, Member> members = new TreeMap<>();
    types.forEach(
        (name, type) ->
            members.put(
                name, new Member(type, requiredBy.getOrDefault(name, 0) == variants.size())));
    return members;
  }

  private static String type(JsonNode property) {
    if (property.has("type")) {
      return property.path("type").asText();
    }
    JsonNode value = property.has("const") ? property.path("const") : property.path("enum").get(0);
    assertNotNull(value, property::toString);
    if (value.isBoolean()) {
      return "boolean";
    }
    return value.isIntegralNumber() ? "integer" : "string";
  }

  private static Set<String> names(JsonNode properties) {
    Set<String> names = new TreeSet<>();
    properties.fieldNames().forEachRemaining(names::add);
    return names;
  }

  private static JsonSchema validator(JsonNode schema) {
    return JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012).getSchema(schema);
  }

  private static JsonNode schema(String file) throws IOException {
    return JSON.readTree(text(file));
  }

  private static String text(String file) throws IOException {
    try (InputStream in =
        Objects.requireNonNull(
            LedgerRowCodec.class.getResourceAsStream(SCHEMAS + file), SCHEMAS + file)) {
      return new String(in.readAllBytes(), StandardCharsets.UTF_8);
    }
  }

  // ---- random records

  private LedgerRow row() {
    if (random.nextInt(5) == 0) {
      return new CloseRow(
          random.nextInt(9), random.nextLong(1L << 40), random.nextLong(9), any(), bool(), 5);
    }
    boolean isFinal = bool();
    long revision = isFinal ? 1 : 1 + random.nextLong(3);
    return new UsageRow(
        key(),
        WINDOW,
        isFinal ? UsageRow.Type.FINAL : UsageRow.Type.ADJUSTMENT,
        revision,
        revision == 1 ? null : UsageRow.recordId(key(), WINDOW, revision - 1),
        isFinal ? null : one(UsageRow.Reason.values()),
        count(),
        any(),
        random.nextInt(9),
        WINDOW.endEpochMillis(),
        bool(),
        random.nextLong(1L << 40),
        period());
  }

  private UsageState state() {
    UsageState.Status status = one(UsageState.Status.values());
    long revision = status == UsageState.Status.RUNNING ? 0 : 1 + random.nextLong(3);
    return new UsageState(key(), WINDOW, status, revision, count(), bool(), period());
  }

  private UsageKey key() {
    String meter = bool() ? "calls" : "bytes";
    return bool() ? UsageKey.others("acme/ü", meter) : new UsageKey("ü", meter, "GET /v1/items");
  }

  private UsageCount count() {
    long allowed = some() / 2;
    long denied = some() / 2;
    long failOpen = Math.min(allowed, some());
    long late = Math.min(allowed + denied, some());
    long first = some();
    return new UsageCount(
        any(),
        allowed,
        denied,
        failOpen,
        some(),
        late,
        allowed + denied,
        first,
        Math.max(first, some()),
        any(),
        some());
  }

  /** Returns a period of the client's own calendar, or a UTC month. */
  private @Nullable BillingPeriod period() {
    return bool()
        ? null
        : BillingPeriod.own("2025-11-21", "Asia/Kathmandu", 1763662500000L, 1766254500000L);
  }

  private long some() {
    return bool() ? random.nextLong(3) : random.nextLong(most);
  }

  private long any() {
    List<Long> edges = new ArrayList<>(List.of(0L, -1L, 1L, Long.MIN_VALUE, Long.MAX_VALUE));
    edges.add(random.nextLong());
    edges.replaceAll(edge -> edge > most || edge < ~most ? edge % most : edge);
    return edges.get(random.nextInt(edges.size()));
  }

  private <T> T one(T[] values) {
    return List.of(values).get(random.nextInt(values.length));
  }

  private boolean bool() {
    return random.nextBoolean();
  }
}
