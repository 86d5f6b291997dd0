// SPDX-License-Identifier: Apache-2.0
package io.weir.ingest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OperatorCheckTest {
  private static final Set<String> NAMES = Set.of("weir.example", "weir");

  /** A page that makes its own host name resolve to the node is a page of the requested host. */
  @ParameterizedTest
  @CsvSource({
    ",evil.example,,true",
    "http://weir.example:8080,weir.example:8080,,true",
    "https://weir.example,Weir.Example.,,false",
    "https://weir.example.,Weir.Example.,,true",
    "https://weir.example,Weir.Example,,true",
    "http://weir,weir,,true",
    "http://10.1.2.3:8080,10.1.2.3:8080,,true",
    "http://[fd00::7]:8080,[fd00::7]:8080,,true",
    "http://localhost:8080,localhost:8080,,true",
    "https://weir.example,10.1.2.3:8080,weir.example,true",
    "http://evil.example,weir.example,,false",
    "http://weir.example,weir.example:8080,,false",
    "http://weir.example.evil.example,weir.example,,false",
    "http://weir.example@evil.example,weir.example,,false",
    "http://evil.example:8080,evil.example:8080,,false",
    "http://evil.example,weir.example,evil.example,false",
    "http://[evil.example],[evil.example],,false",
    "http://10.1.2.3.evil.example,10.1.2.3.evil.example,,false",
    "http://127.1,127.1,,false",
    "null,weir.example,,false",
    "http://weir.example,,,false"
  })
  void pageOfAHostThatIsNotKnown_isNoneOfAnOperator(
      @Nullable String origin,
      @Nullable String host,
      @Nullable String forwardedHost,
      boolean allowed) {
    assertEquals(allowed, OperatorCheck.whyFromAPage(origin, host, forwardedHost, NAMES) == null);
  }

  /** Any program of this machine may serve pages by another port. */
  @ParameterizedTest
  @CsvSource({
    ",localhost:8080,true",
    ",127.0.0.1:8080,true",
    ",[::1]:8080,true",
    "http://localhost:8080,localhost:8080,true",
    "http://localhost:3000,localhost:8080,false",
    "http://127.0.0.1:8080,localhost:8080,false",
    "https://localhost,localhost:8080,false",
    "null,localhost:8080,false",
    "http://evil.example:8080,evil.example:8080,false",
    ",evil.example:8080,false",
    ",127.0.0.1.evil.example,false",
    ",,false"
  })
  void pageOfAnotherPortOrName_isNoneOfAnOperatorOnThisMachine(
      @Nullable String origin, @Nullable String host, boolean allowed) {
    assertEquals(allowed, OperatorCheck.whyNotOfThisMachine(origin, host) == null);
  }
}
