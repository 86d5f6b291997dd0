// SPDX-License-Identifier: Apache-2.0
package io.weir.spring;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.weir.client.Decision;
import io.weir.client.WeirRequestException;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The response to a refused request, as a problem document (RFC 9457). The member {@code reason}
 * has the values of the check API. Immutable.
 *
 * @param status the HTTP status
 * @param fields header fields, in addition to the header fields of a verdict
 * @param members members of the body
 */
record ProblemAnswer(int status, Map<String, String> fields, Map<String, Object> members) {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final String REGISTRY = "https://iana.org/assignments/http-problem-types#";

  static ProblemAnswer denied(Decision.Denied denied) {
    boolean isQuota = denied.status() == 429;
    ProblemAnswer answer =
        of(
            denied.status(),
            REGISTRY + (isQuota ? "quota-exceeded" : "temporary-reduced-capacity"),
            isQuota ? "Quota exceeded" : "Temporarily reduced capacity",
            denied.reason(),
            denied.detail());
    if (!denied.violatedPolicies().isEmpty()) {
      answer.members.put("violated-policies", denied.violatedPolicies());
    }
    return answer;
  }

  static ProblemAnswer callerUnknown(String detail) {
    ProblemAnswer answer = of(401, null, "The caller is unknown", "caller-unknown", detail);
    answer.fields.put("WWW-Authenticate", "ApiKey");
    return answer;
  }

  static ProblemAnswer wrongMember(WeirRequestException wrong) {
    ProblemAnswer answer =
        of(400, null, "A member is missing or wrong", wrong.reason(), wrong.detail());
    answer.members.put("field", String.valueOf(wrong.field()));
    return answer;
  }

  static ProblemAnswer undecided(String detail) {
    ProblemAnswer answer =
        of(
            503,
            REGISTRY + "temporary-reduced-capacity",
            "Temporarily reduced capacity",
            "undecided",
            detail);
    answer.fields.put("Retry-After", "1");
    return answer;
  }

  private static ProblemAnswer of(
      int status, @Nullable String type, String title, String reason, String detail) {
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("type", type == null ? "about:blank" : type);
    members.put("title", title);
    members.put("status", status);
    members.put("detail", detail);
    members.put("reason", reason);
    return new ProblemAnswer(status, new LinkedHashMap<>(), members);
  }

  void writeTo(HttpServletResponse response) throws IOException {
    fields.forEach(response::setHeader);
    response.setStatus(status);
    response.setContentType("application/problem+json");
    response.setHeader("Cache-Control", "no-store");
    response.getOutputStream().write(JSON.writeValueAsBytes(members));
  }
}
