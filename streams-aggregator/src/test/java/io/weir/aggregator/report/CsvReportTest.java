// SPDX-License-Identifier: Apache-2.0
package io.weir.aggregator.report;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

final class CsvReportTest {
  private static final Instant NOW = Instant.parse("2026-11-21T14:03:07Z");
  private static final String FORMULA_SIGNS = "=+-@\uFF1D\uFF0B\uFF0D\uFF20";

  /** Separators of cells in a spreadsheet; they depend on the locale and the settings. */
  private static final String SEPARATORS = ",;\t|";

  @Test
  void csv_namesThatHoldFormulas_beginNoCellInAnyLocale() {
    for (String hostile :
        List.of(
            "=1+1",
            "+1",
            "-1",
            "@SUM(A1)",
            " =1+1",
            "\u00A0=1+1",
            "\uFF1D1+1",
            "x,=1+1",
            "GET;=1+1",
            "GET; =1+1",
            "GET;\"=1+1\"",
            "\"=1+1",
            "a|@SUM(A1)",
            "a;b;-1;+2",
            ";;=1")) {
      String csv = csv(hostile, hostile);
      for (int at = 0; at < SEPARATORS.length(); at++) {
        char separator = SEPARATORS.charAt(at);
        for (String line : csv.lines().toList()) {
          for (String cell : cells(line, separator)) {
            String seen = cell.strip().replaceAll("^[\"\\s\\h]+", "");
            assertFalse(
                !seen.isEmpty() && FORMULA_SIGNS.indexOf(seen.charAt(0)) >= 0,
                () ->
                    "'" + hostile + "' gives the cell '" + cell + "' at " + separator + ": " + csv);
          }
        }
      }
    }
  }

  @Test
  void csv_harmlessNames_standAsTheyAre() {
    for (String name :
        List.of("GET /v1/items/{id}", "a-b=c", "x, y", "say \"hello\"", "a;b", "o'neil", "été")) {
      String row = csv(name, name).lines().toList().get(1);

      assertEquals(name, cells(row, ',').get(0), row);
      assertEquals(name, cells(row, ',').get(11), row);
    }
  }

  @Test
  void csv_namesWithASemicolon_areQuoted() {
    String row = csv("a;b", "-").lines().toList().get(1);

    assertEquals("\"a;b\"", row.substring(0, row.indexOf(",calls")));
    assertEquals("'-", cells(row, ',').get(11));
  }

  private static String csv(String client, String endpoint) {
    UsageQuery query =
        UsageQuery.of(
            Map.of("client", List.of(client), "group_by", List.of("endpoint")),
            Duration.ofMinutes(15),
            NOW);
    UsageReport.Row row =
        new UsageReport.Row(NOW, NOW, true, true, 1, 12, 12, 0, 0, endpoint, false, null, endpoint);
    return new String(ReportFormats.csv(query, List.of(row)), StandardCharsets.UTF_8);
  }

  /** Reads a line as spreadsheets do: a quote counts at the beginning of a cell only. */
  private static List<String> cells(String line, char separator) {
    List<String> cells = new ArrayList<>();
    int at = 0;
    while (at <= line.length()) {
      StringBuilder cell = new StringBuilder();
      if (at < line.length() && line.charAt(at) == '"') {
        at++;
        while (at < line.length()) {
          if (line.charAt(at) == '"') {
            if (at + 1 >= line.length() || line.charAt(at + 1) != '"') {
              break;
            }
            at++;
          }
          cell.append(line.charAt(at++));
        }
        at++;
      }
      while (at < line.length() && line.charAt(at) != separator) {
        cell.append(line.charAt(at++));
      }
      at++;
      cells.add(cell.toString());
    }
    return cells;
  }
}
