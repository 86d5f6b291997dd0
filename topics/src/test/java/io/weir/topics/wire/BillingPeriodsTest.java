// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.wire;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.networknt.schema.InputFormat;
import com.networknt.schema.JsonSchemaFactory;
import com.networknt.schema.SpecVersion;
import io.weir.limits.BillingPeriod;
import io.weir.topics.model.LedgerRow;
import io.weir.topics.model.UsageCount;
import io.weir.topics.model.UsageKey;
import io.weir.topics.model.UsageRow;
import io.weir.topics.model.UsageState;
import io.weir.topics.model.UsageWindow;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Compares stored records of clients with their own billing calendars with the published schemas.
 */
final class BillingPeriodsTest {
  private static final BillingPeriod NOVEMBER =
      BillingPeriod.own("2025-11-21", "Asia/Kathmandu", 1_763_662_500_000L, 1_766_254_500_000L);
  private static final UsageKey KEY = new UsageKey("acme/ü", "calls", "GET /v1/items");
  private static final UsageKey OTHERS = UsageKey.others("acme/ü", "calls");
  private static final UsageWindow WINDOW = new UsageWindow(1_763_690_400_000L, 1_763_691_300_000L);
  private static final UsageCount COUNT =
      new UsageCount(10_432, 10_432, 57, 3, 2, 0, 10_489, 8_000, 8_812, -2L, 7);

  @Test
  void usageRows_encodeAndDecode_agreeWithTheStoredBytes() throws Exception {
    assertRow("ledger-final.json", row(KEY, UsageRow.Type.FINAL, NOVEMBER));
    assertRow("ledger-adjustment.json", row(KEY, UsageRow.Type.ADJUSTMENT, NOVEMBER));
    assertRow("ledger-adjustment-others.json", row(OTHERS, UsageRow.Type.ADJUSTMENT, NOVEMBER));
  }

  private static UsageRow row(UsageKey key, UsageRow.Type type, BillingPeriod period) {
    boolean isFinal = type == UsageRow.Type.FINAL;
    return new UsageRow(
        key,
        WINDOW,
        type,
        isFinal ? 1 : 2,
        isFinal ? null : UsageRow.recordId(key, WINDOW, 1),
        isFinal ? null : UsageRow.Reason.LATE,
        COUNT,
        10_432,
        3,
        1_763_691_300_000L,
        true,
        1_763_691_900_000L,
        period);
  }

  private static void assertRow(String name, LedgerRow row) throws Exception {
    byte[] bytes = LedgerRowCodec.encode(row);

    assertEquals(stored("v2/" + name), text(bytes));
    assertEquals(row, LedgerRowCodec.decode(bytes));
  }

  @Test
  void usageState_encodeAndDecode_agreeWithTheStoredBytes() throws Exception {
    assertState("usage-state.json", KEY);
    assertState("usage-state-others.json", OTHERS);
  }

  private static void assertState(String name, UsageKey key) throws Exception {
    UsageState state =
        new UsageState(key, WINDOW, UsageState.Status.ADJUSTED, 2, COUNT, true, NOVEMBER);

    byte[] bytes = UsageStateCodec.encode(state);

    assertEquals(stored("v2/" + name), text(bytes));
    assertEquals(state, UsageStateCodec.decode(bytes));
  }

  @Test
  void rowOfVersion1_isOfTheMonthThatItSays() throws Exception {
    String stored = stored("v1/ledger-final.json");

    UsageRow row = (UsageRow) LedgerRowCodec.decode(bytes(stored));
    UsageRow wrong = (UsageRow) LedgerRowCodec.decode(bytes(stored.replace("2025-11", "2025-12")));

    assertNull(row.ownPeriod());
    assertEquals(BillingPeriod.utcMonth("2025-11"), row.billingPeriod());
    assertEquals(BillingPeriod.utcMonth("2025-12"), wrong.billingPeriod());
    assertTrue(text(LedgerRowCodec.encode(wrong)).contains("\"billing_period\":\"2025-12\","));
  }

  @Test
  void stateOfVersion1_isOfTheMonthOfItsWindow() throws Exception {
    UsageState state = UsageStateCodec.decode(bytes(stored("v1/usage-state.json")));

    assertNull(state.ownPeriod());
    assertEquals("2025-11", state.billingPeriod().name());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "ledger-row v1/ledger-final.json",
        "ledger-row v1/ledger-adjustment.json",
        "ledger-row v1/ledger-adjustment-others.json",
        "ledger-row v1/ledger-close.json",
        "ledger-row v2/ledger-final.json",
        "ledger-row v2/ledger-adjustment.json",
        "ledger-row v2/ledger-adjustment-others.json",
        "usage-state v1/usage-state.json",
        "usage-state v1/usage-state-others.json",
        "usage-state v2/usage-state.json",
        "usage-state v2/usage-state-others.json"
      })
  void storedBytes_followTheSchema(String schemaAndName) throws Exception {
    String[] names = schemaAndName.split(" ", 2);

    assertEquals(List.of(), violations(names[0], stored(names[1])));
  }

  @Test
  void halfOfAPeriod_breaksTheSchema() throws Exception {
    String row = stored("v2/ledger-final.json");

    for (String broken :
        List.of(
            row.replace("\"schema_version\":2", "\"schema_version\":1"),
            row.replace("2025-11-21", "2025-11"),
            row.replace(",\"billing_zone\":\"Asia/Kathmandu\"", ""))) {
      assertTrue(!violations("ledger-row", broken).isEmpty(), broken);
    }
  }

  private static List<String> violations(String schema, String record) throws IOException {
    try (InputStream in =
        LedgerRowCodec.class.getResourceAsStream("/io/weir/topics/schema/" + schema + ".json")) {
      return JsonSchemaFactory.getInstance(SpecVersion.VersionFlag.V202012)
          .getSchema(in)
          .validate(record, InputFormat.JSON)
          .stream()
          .map(Object::toString)
          .toList();
    }
  }

  private static String stored(String name) throws IOException {
    try (InputStream in = BillingPeriodsTest.class.getResourceAsStream(name)) {
      return in == null ? "no stored bytes " + name : text(in.readAllBytes()).strip();
    }
  }

  private static String text(byte[] bytes) {
    return new String(bytes, StandardCharsets.UTF_8);
  }

  private static byte[] bytes(String text) {
    return text.getBytes(StandardCharsets.UTF_8);
  }
}
