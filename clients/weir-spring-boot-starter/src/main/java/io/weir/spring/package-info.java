// SPDX-License-Identifier: Apache-2.0
/**
 * Weir for Spring Boot applications: auto-configuration, a servlet filter, and a rate limiter for
 * Spring Cloud Gateway. Depends on {@code weir-client} and Spring. The classes for servlets and for
 * the gateway are used only by applications that have these libraries.
 */
@NullMarked
package io.weir.spring;

import org.jspecify.annotations.NullMarked;
