// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OperatorCheckTest {
  @ParameterizedTest
  @CsvSource({
    "http://weir.example:8080,weir.example:8080,true",
    "https://weir.example,Weir.Example,true",
    "http://evil.example,weir.example,false",
    "http://weir.example,weir.example:8080,false",
    "http://weir.example.evil.example,weir.example,false",
    "http://weir.example@evil.example,weir.example,false",
    "null,weir.example,false",
    "http://weir.example,,false"
  })
  void pageOfAnotherHost_isNotTheNodesOwn(String origin, @Nullable String host, boolean own) {
    assertEquals(own, OperatorCheck.isOf(origin, host));
  }
}
