// SPDX-License-Identifier: Apache-2.0
package io.weir.topics.kafka;

import javax.security.auth.login.LoginException;
import org.apache.kafka.common.errors.AuthenticationException;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.GroupAuthorizationException;
import org.apache.kafka.common.errors.TopicAuthorizationException;
import org.apache.kafka.common.errors.TransactionalIdAuthorizationException;
import org.jspecify.annotations.Nullable;

/**
 * Detects authorization and authentication failures of Kafka, and describes the missing permission.
 * Stateless and thread-safe.
 */
public final class KafkaRefusal {
  private static final String SEE = " (docs/operate/install.md, access to Kafka)";

  private KafkaRefusal() {}

  /**
   * Returns whether a failure is an authorization or authentication failure. A retry cannot succeed
   * until an operator changes the credentials or the permissions.
   */
  public static boolean is(Throwable failure) {
    return find(failure) != null;
  }

  private static @Nullable Throwable find(Throwable failure) {
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      if (cause instanceof AuthorizationException || cause instanceof AuthenticationException) {
        return cause;
      }
    }
    return null;
  }

  /**
   * Returns a description of the failure, with the missing permission.
   *
   * @param operation name of the operation in access control lists, such as {@code Write}
   * @param otherwise result for any other failure
   */
  public static String explain(Throwable failure, String operation, @Nullable String otherwise) {
    Throwable refusal = find(failure);
    if (refusal == null) {
      String login = login(failure);
      return login == null ? String.valueOf(otherwise) : login;
    }
    String said = String.valueOf(refusal.getMessage());
    if (refusal instanceof AuthenticationException) {
      return "Kafka does not accept the credentials: " + said + SEE;
    }
    return "Kafka refuses: the principal lacks " + lacking(refusal, operation) + ": " + said + SEE;
  }

  /**
   * Returns the reason why a client could not get credentials, for example from a token issuer;
   * null for any other failure.
   */
  private static @Nullable String login(Throwable failure) {
    boolean isOfLogin = false;
    String said = "";
    for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
      isOfLogin |= cause instanceof LoginException;
      if (cause.getMessage() != null) {
        said = cause.getMessage();
      }
    }
    // each message contains the message of its cause; the last message is the original message
    return isOfLogin
        ? "the client could not get credentials for Kafka: "
            + said.replaceFirst("^(\\S+: )+", "")
            + SEE
        : null;
  }

  private static String lacking(Throwable refusal, String operation) {
    if (refusal instanceof TopicAuthorizationException ofTopics) {
      return operation
          + (ofTopics.unauthorizedTopics().isEmpty()
              ? " on a topic"
              : " on the topic " + String.join(", ", ofTopics.unauthorizedTopics()));
    }
    if (refusal instanceof GroupAuthorizationException ofGroup) {
      return "Read on the group " + (ofGroup.groupId() == null ? "" : ofGroup.groupId());
    }
    return refusal instanceof TransactionalIdAuthorizationException
        ? "Write on the transactional id"
        : operation + " on the cluster";
  }
}
