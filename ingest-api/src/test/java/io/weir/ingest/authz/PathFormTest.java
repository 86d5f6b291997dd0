// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.authz;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

final class PathFormTest {
  @ParameterizedTest
  @CsvSource(
      delimiter = ' ',
      value = {
        "/v1/items v1|items",
        "/ ''",
        "//v1///items// v1|items",
        "/v1/it%65ms v1|items",
        "/v1/it%2565ms v1|it%65ms",
        "/v1%2Fitems v1%2Fitems",
        "/v1%2fitems v1%2Fitems",
        "/v1/%zz/%4 v1|%zz|%4",
        "/v1/% v1|%",
        "/v1/./items/../carts v1|carts",
        "/v1/%2E%2e/%2e/carts carts",
        "/../../etc etc",
        "/v1/items;v=1/7;a=/b v1|items|7|b",
        "/a/..;/b b",
        "/v1/items?q=/../x v1|items",
        "/v1/items#part v1|items",
        "/v1/items?a=b#/c v1|items",
        "http://host/v1/items?q v1|items",
        "https://host ''",
        "http://host?q=/v1 ''",
        "?q=://host/v1 ''",
        "* *",
        "v1/items v1|items",
        "/V1/Items V1|Items",
        "/%3Bx/%3F ;x|?",
      })
  void segments_ofEachWayOfWriting_areOfOneForm(String target, String segments) {
    List<String> expected = segments.isEmpty() ? List.of() : List.of(segments.split("\\|", -1));

    assertEquals(expected, PathForm.segments(target));
  }
}
