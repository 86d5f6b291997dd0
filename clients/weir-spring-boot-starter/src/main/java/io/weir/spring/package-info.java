// SPDX-License-Identifier: Apache-2.0
/**
 * Weir in applications on Spring Boot: auto-configuration, a servlet filter, a limiter of Spring
 * Cloud Gateway. Depends on {@code weir-client} and Spring; what belongs to servlets or to the
 * gateway is used only by applications that have it.
 */
@NullMarked
package io.weir.spring;

import org.jspecify.annotations.NullMarked;
