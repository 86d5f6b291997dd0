// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.kafka;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.util.Set;
import javax.security.auth.login.LoginException;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.errors.SaslAuthenticationException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.junit.jupiter.api.Test;

final class KafkaRefusalTest {
  @Test
  void right_thatIsMissing_isNamed() {
    TopicAuthorizationException refused = new TopicAuthorizationException(Set.of("weir.calls.v1"));

    assertTrue(KafkaRefusal.is(new KafkaException(refused)));
    assertTrue(
        KafkaRefusal.explain(refused, "Write", "").contains("lacks Write on the topic weir.calls"));
  }

  @Test
  void credentials_thatKafkaRefuses_areReportedAsSuch() {
    assertTrue(
        KafkaRefusal.explain(new SaslAuthenticationException("no"), "Read", "")
            .startsWith("Kafka does not accept the credentials: no"));
  }

  /** The issuer may be unavailable, so a retry may succeed. */
  @Test
  void credentials_thatAnIssuerRefuses_areReported_withoutClassNames() {
    LoginException login = new LoginException("java.io.IOException: The response code 401");
    login.initCause(new IOException("java.io.IOException: The response code 401"));
    KafkaException failure = new KafkaException("Failed to create new client", login);

    assertFalse(KafkaRefusal.is(failure));
    assertTrue(
        KafkaRefusal.explain(failure, "Read", "")
            .startsWith("the client could not get credentials for Kafka: The response code 401"),
        () -> KafkaRefusal.explain(failure, "Read", ""));
  }

  @Test
  void otherFailures_areReportedOtherwise() {
    TimeoutException away = new TimeoutException("away");

    assertFalse(KafkaRefusal.is(away));
    assertEquals("otherwise", KafkaRefusal.explain(away, "Read", "otherwise"));
  }
}
